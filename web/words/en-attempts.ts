// English: the strings of attempts, of previews of files, and of the questions before a generation is cancelled or deleted.

export const enAttempts = {
  attemptTable: {
    label: "Attempts",
    route: (n: number) => `Route ${n}`,
    drawing: (span: string, attempts: string) => `Attempts over ${span}. ${attempts}. The table below has the times.`,
    none: "No attempt has begun.",
    after: (time: string) => `after ${time}`,
    job: (id: string) => `job ${id}`,
    columns: { route: "Route", outcome: "Outcome", began: "Began", sent: "Sent", took: "Took", price: "Price" },
  },
  preview: {
    name: (title: string, n: number) => `${title}, file ${n}`,
    unreachable: "The service is unreachable; reload the page in a moment.",
    status: (status: number) => `The service returned status ${status}; reload the page in a moment.`,
  },
  cancelling: {
    open: "Cancel",
    title: "Cancel this generation?",
    does: "Cancel generation",
    leaves: "Keep it running",
    about: "No further route is tried. If a provider has already started, it may still deliver, and the result is charged.",
  },
  deleting: {
    open: "Delete",
    title: "Delete this generation?",
    does: "Delete generation",
    leaves: "Keep it",
    erased: "Its prompt, input, metadata, end user and files are erased and cannot be restored.",
    stays: "Its status, its cost and its transfers stay. Uploaded files that it used are not deleted.",
    done: "The generation is deleted",
    backups: "Backups that were taken before may still contain its prompt and its files:",
    untilDeleted: "until an operator deletes it",
    until: (day: string) => `until ${day}`,
    close: "Close",
  },
};
