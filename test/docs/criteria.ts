// What users and operators were promised of the first minutes and of the service in earnest, each with the tests that hold it.
import type { Held } from "../security/table.ts";

export type Criterion = { name: string; promise: string; held: readonly Held[] };

const SERVICE = "cli/service.test.ts";
const PAGES = "browser/pages.test.ts";
const MAKING = "browser/console-generations.test.ts";
const REPLAY = "browser/inspector-replay.test.ts";
const WALK: Held = [
  "browser/walk.test.ts",
  "set up, make a key, buy a pack, see a picture and a video of one's own, find it, and step through it in the inspector",
];
const SETTINGS = "cli/settings.test.ts";

export const CRITERIA: readonly Criterion[] = [
  {
    name: "A1",
    promise: "from the installed packages to a downloaded file in few commands, with nothing else needed",
    held: [
      ["offline/offline.test.ts", "with the network cut it starts, generates, delivers and shows its pages"],
      [SERVICE, "generate finds the service and its key by the data directory, and saves every file"],
    ],
  },
  {
    name: "A2",
    promise: "a start says where everything is; a port that is taken is reported in one line",
    held: [
      [PAGES, "the start says where the pages are"],
      [SERVICE, "the port cannot be shared, nor the directory; neither is told with a stack"],
    ],
  },
  {
    name: "A3",
    promise: "all of it works without a network, and no page asks another host",
    held: [
      ["offline/offline.test.ts", "with the network cut"],
      [PAGES, "%s asks no other host, breaks no rule of its policy and complains of nothing"],
    ],
  },
  {
    name: "A4",
    promise: "files are of the kind, size and length asked for; a video plays and seeks in a browser",
    held: [
      ["simulator/files.test.ts", "test.each(CLIPS)"],
      [PAGES, "a video of the simulator plays and seeks"],
      ["api/files.test.ts", "files have the type of their kind, and a link is the same file without a key"],
    ],
  },
  {
    name: "A5",
    promise: "the same key again is the same generation; another body with it is 409",
    held: [
      [SERVICE, "the same --idempotency-key makes one generation; get and download find it again"],
      ["api/order.test.ts", "a replay is answered before balance, limit, catalogue, breakers and drain"],
    ],
  },
  {
    name: "A6",
    promise: "after a fallback only the route that delivered is charged, and the sum is the same at every poll",
    held: [["api/fallback.test.ts", "%s: two attempts, the second route's price, the same sum at every poll"]],
  },
  {
    name: "A7",
    promise: "Ctrl-C ends with 130 and says how to go on",
    held: [[SERVICE, "Ctrl-C ends the command with 130 and says how to go on; the generation goes on"]],
  },
  {
    name: "A8",
    promise: "in a pipe: JSON lines on standard output, nothing else",
    held: [[SERVICE, "with --json standard output is one generation per line"]],
  },
  {
    name: "A9",
    promise: "killed in the middle of a generation: it succeeds after the next start, charged once",
    held: [["generation/restart.test.ts", "dead ${death.at} ${death.event}"]],
  },
  {
    name: "A10",
    promise: "the console: in by the set-up link; a generation appears by itself, with its attempts, its money and its files",
    held: [
      WALK,
      [MAKING, "shows a generation that the API makes, and follows it to its end, without being loaded again"],
      [MAKING, "with a fallback is drawn over time, told in a table, and used again"],
    ],
  },
  {
    name: "A11",
    promise: "the inspector: the same generation on its statechart, live and at every step of its journal, without its prompt",
    held: [
      WALK,
      ["browser/inspector-live.test.ts", "a generation is watched going through its states, to its end"],
      [REPLAY, "it says that journal, machine and ledger agree, and shows each line of the journal and the money beside it"],
      [REPLAY, "at every step the chart is in the state of the journal, the last way is marked"],
      [REPLAY, "arrow keys go from step to step, on the page and on the slider; the slider goes by time"],
      ["inspector/redaction.test.ts", "prompts and what providers say only where that is switched on"],
    ],
  },
  {
    name: "A12",
    promise: "pages: no serious fault of access, by keyboard, light and dark, at 360 px",
    held: [
      [PAGES, "$path on $look.viewport.width pixels, $look.colorScheme: no serious fault of access"],
      [PAGES, "the catalogue is read by keyboard"],
      ["browser/console-frame.test.ts", "by keyboard: past the navigation in one step, and each page begins at its heading"],
      ["browser/console-users.test.ts", "%o: every page fits, and is sound to axe"],
      ["browser/console-keys.test.ts", "has no serious fault of access on %s, nor have its dialogs"],
      ["browser/console-credits.test.ts", "on $viewport.width pixels, $colorScheme: no serious fault of access"],
      [MAKING, "everything is reached and chosen by keyboard alone, and fits a phone"],
      ["browser/console-operator.test.ts", "have no serious fault of access on %s, nor have their dialogs"],
      ["browser/inspector-live.test.ts", "on $viewport.width pixels, $colorScheme: no serious fault of access"],
      [REPLAY, "on $viewport.width pixels, $colorScheme: no serious fault of access"],
      ["browser/inspector-play.test.ts", "on $viewport.width pixels, $colorScheme: no serious fault of access"],
      ["browser/inspector-play.test.ts", "it is played by keyboard, and the chart is read as a list"],
    ],
  },
  {
    name: "B1",
    promise: "the binary runs where there is nothing but libc, from an empty directory",
    held: [
      ["build/binary.test.ts", "is linked to libc and its parts only"],
      ["build/binary.test.ts", "serves, and delivers a generation, where there is nothing else"],
    ],
  },
  {
    name: "B2",
    promise: "SIGTERM drains: nothing is lost, exit 0",
    held: [
      [SERVICE, "SIGTERM drains and ends with 0"],
      ["cli/signals.test.ts", "one signal drains"],
    ],
  },
  {
    name: "B3",
    promise: "a backup under load is one moment; every byte is checked before it is called verified",
    held: [
      ["backup/load.test.ts", "backups under load are each one moment, and restore to a directory whose verify passes"],
      ["backup/damage.test.ts", "verify"],
    ],
  },
  {
    name: "B4",
    promise: "an upgrade makes a checked copy first; a downgrade is refused with a sentence",
    held: [
      ["store/upgrade.test.ts", "a directory of the release before starts, after a copy of it was made and checked"],
      ["store/upgrade.test.ts", "the release before refuses the directory in one line, exit 1, and changes nothing"],
    ],
  },
  {
    name: "B5",
    promise: "faults of a catalogue with file and line; a bad one at a reload changes nothing and is one line of the log",
    held: [
      ["cli/catalogue.test.ts", "what is not JSON is told with line and column"],
      ["cli/catalogue.test.ts", "keeps its catalogue when a bad file comes by SIGHUP, with one error in its log"],
    ],
  },
  {
    name: "B6",
    promise: "providers' keys appear nowhere; the master key can be changed",
    held: [
      ["security/canary.test.ts", "no answer tells one"],
      ["security/canary.test.ts", "the metrics tell none, and no generation and no account"],
      ["telemetry/traces.test.ts", "no secret is told"],
      [SETTINGS, "print shows every setting, which read back are the same settings, and no credential"],
      ["cli/providers.test.ts", "is sealed anew under another master key"],
    ],
  },
  {
    name: "B7",
    promise: "packs and any whole amount from 10 to 5,000 USD; a payment credits once, and only when its news is genuine",
    held: [
      WALK,
      ["console/credits.test.ts", "the balance with what is held, the packs, and how credits are bought"],
      ["console/credits.test.ts", "%d USD are bought: credited once, with a receipt"],
      ["console/credits.test.ts", "%d USD are not bought"],
      ["billing/payments.test.ts", "replayed three times credits once"],
      ["billing/payments.test.ts", "%s is answered 400 and credits nothing"],
      ["billing/payments.test.ts", "is asked for with the purchase's own key, an invoice, and addresses of this service"],
    ],
  },
  {
    name: "B8",
    promise: "/metrics is right for promtool, needs the token or this machine, and names no customer",
    held: [
      ["telemetry/metrics.test.ts", "promtool has nothing to say against it"],
      ["telemetry/requests.test.ts", "with a token it answers who sends it"],
      ["telemetry/metrics.test.ts", "no label holds a generation, an account, a key, a request or a prompt"],
    ],
  },
  {
    name: "B9",
    promise: "completion, a manual page, an example in every --help",
    held: [
      ["cli/completion.test.ts", "bash completes commands, flags and choices"],
      ["cli/completion.test.ts", "names every command with its examples, every setting and every exit code"],
      ["cli/flags.test.ts", "every command and every group of commands has an example"],
    ],
  },
];
