// Texts of the guides of docs/guides, in Markdown.
import filesGuide from "../../../docs/guides/files.md" with { type: "text" };
import limitsGuide from "../../../docs/guides/limits.md" with { type: "text" };
import quickStartGuide from "../../../docs/guides/quick-start.md" with { type: "text" };
import waitingGuide from "../../../docs/guides/waiting.md" with { type: "text" };
import webhooksGuide from "../../../docs/guides/webhooks.md" with { type: "text" };

/** Markdown of each guide, in reading order. */
export const GUIDES: Readonly<Record<string, string>> = {
  "quick-start": quickStartGuide,
  files: filesGuide,
  waiting: waitingGuide,
  webhooks: webhooksGuide,
  limits: limitsGuide,
};

export const titleOf = (markdown: string): string => /^# (.+)$/m.exec(markdown)?.[1] ?? "";
