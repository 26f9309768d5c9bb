// The acceptance criteria for users and operators, each with the tests that verify it.
import type { Held } from "../security/table.ts";

export type Criterion = { reader: "a user" | "an operator"; promise: string; held: readonly Held[] };

const SERVICE = "cli/service.test.ts";
const PAGES = "browser/pages.test.ts";
const MAKING = "browser/console-generations.test.ts";
const FILES = "browser/console-files.test.ts";
const WEBHOOKS = "browser/console-webhooks.test.ts";
const REPLAY = "browser/inspector-replay.test.ts";
const WALK: Held = [
  "browser/walk.test.ts",
  "a new user compares, downloads and repeats pictures, makes a clip of one, buys credits, creates a key and invites a colleague",
];
const SETTINGS = "cli/settings.test.ts";

export const CRITERIA: readonly Criterion[] = [
  {
    reader: "a user",
    promise: "from the installed packages to a downloaded file in few commands, with nothing else needed",
    held: [
      ["offline/offline.test.ts", "without a network the service starts, generates, delivers and serves its pages"],
      [SERVICE, "generate finds the service and its key through --data and saves every file"],
    ],
  },
  {
    reader: "a user",
    promise: "a start says where everything is; a port that is taken is reported in one line",
    held: [
      [PAGES, "prints the address of the documentation at the start"],
      [SERVICE, "serve exits without a stack trace when the port or the data directory is in use"],
    ],
  },
  {
    reader: "a user",
    promise: "all of it works without a network, and no page asks another host",
    held: [
      ["offline/offline.test.ts", "without a network the service starts"],
      [PAGES, "%s requests no other host and logs no error or policy violation"],
    ],
  },
  {
    reader: "a user",
    promise: "files are of the kind, size and length asked for; a video plays and seeks in a browser",
    held: [
      ["simulator/files.test.ts", "test.each(CLIPS)"],
      [PAGES, "a video of the simulator plays and seeks"],
      ["api/files.test.ts", "serves files with the content type of their kind, and the same file by its link without a key"],
    ],
  },
  {
    reader: "a user",
    promise: "the same key again is the same generation; another body with it is 409",
    held: [
      [SERVICE, "the same --idempotency-key creates one generation, which get and download find"],
      ["api/order.test.ts", "returns a replay before the checks of balance, limits, catalogue, circuit breakers and drain"],
    ],
  },
  {
    reader: "a user",
    promise: "after a fallback only the route that delivered is charged, and the sum is the same at every poll",
    held: [["api/fallback.test.ts", "falls back after %s, charges the second route's price and conserves credits at every poll"]],
  },
  {
    reader: "a user",
    promise: "Ctrl-C ends with 130 and prints how to continue",
    held: [[SERVICE, "Ctrl-C ends generate with exit code 130 and prints the download command while the generation continues"]],
  },
  {
    reader: "a user",
    promise: "in a pipe: one JSON document on standard output, nothing else",
    held: [[SERVICE, "generate --json prints one JSON document on standard output"]],
  },
  {
    reader: "a user",
    promise: "killed in the middle of a generation: it succeeds after the next start, charged once",
    held: [["generation/restart.test.ts", "after a crash ${death.at} ${death.event}"]],
  },
  {
    reader: "a user",
    promise: "the console: in by the set-up link; a generation appears by itself, with its attempts, its money and its files",
    held: [
      WALK,
      [MAKING, "shows a generation that was submitted through the API and updates it until success without a reload"],
      [MAKING, "shows a fallback on a timeline and in a table, and its input can be used again"],
    ],
  },
  {
    reader: "a user",
    promise:
      "the console: a local picture is dropped on a field and becomes a clip; a test event reaches a webhook and is verified",
    held: [
      [FILES, "makes a clip from a picture that is dropped on its field, with a preview of the picture"],
      [FILES, "shows the error of each file that is refused, and stores the others"],
      [WEBHOOKS, "creates an endpoint, shows its secret, sends a test event that the secret verifies, and lists its delivery"],
    ],
  },
  {
    reader: "a user",
    promise: "the inspector: the same generation on its statechart, live and at every step of its journal, without its prompt",
    held: [
      WALK,
      ["browser/inspector-live.test.ts", "follows a generation through its states to its end"],
      [REPLAY, "reports that events, machine and ledger agree, and shows each event with its transfers"],
      [REPLAY, "shows at every step the stored state, the last transition and the full step"],
      [REPLAY, "moves between steps with arrow keys on the page and on the slider, and by time on the slider"],
      ["inspector/redaction.test.ts", "prompts and provider messages only if they are enabled"],
    ],
  },
  {
    reader: "a user",
    promise: "pages: no serious fault of access, by keyboard, light and dark, at 360 px",
    held: [
      [PAGES, "$path on $look.viewport.width pixels, $look.colorScheme: has no serious accessibility violation"],
      [PAGES, "a keyboard user skips the list of errors in one step and opens each code at its own address"],
      [
        "browser/console-frame.test.ts",
        "a keyboard user skips the navigation in one step, and each page starts with focus on its heading",
      ],
      ["browser/console-users.test.ts", "%o: every page fits and has no accessibility violation"],
      ["browser/console-keys.test.ts", "has no serious accessibility violation on %s, including its dialogs"],
      ["browser/console-credits.test.ts", "on $viewport.width pixels, $colorScheme: has no serious accessibility violation"],
      [MAKING, "works by keyboard only and fits a phone"],
      [FILES, "fits the screen and has no violation with %j"],
      [WEBHOOKS, "fits the screen and has no violation, with all dialogs and %j"],
      ["browser/console-operator.test.ts", "have no serious accessibility violation on %s, including their dialogs"],
      ["browser/inspector-live.test.ts", "on $viewport.width pixels, $colorScheme: has no serious accessibility violation"],
      [REPLAY, "on $viewport.width pixels, $colorScheme: has no serious accessibility violation"],
      ["browser/inspector-play.test.ts", "on $viewport.width pixels, $colorScheme: has no serious accessibility violation"],
      ["browser/inspector-play.test.ts", "works by keyboard, and shows the chart as a list"],
    ],
  },
  {
    reader: "an operator",
    promise: "the binary runs where there is nothing but libc, from an empty directory",
    held: [
      ["build/binary.test.ts", "the binary is linked only to libc and its parts"],
      [
        "build/binary.test.ts",
        "the binary serves and delivers a generation in a root directory with only its libraries and /proc",
      ],
    ],
  },
  {
    reader: "an operator",
    promise: "SIGTERM drains: nothing is lost, exit 0",
    held: [
      [SERVICE, "SIGTERM drains and the service exits with 0"],
      ["cli/signals.test.ts", "one signal drains and does not end the process"],
    ],
  },
  {
    reader: "an operator",
    promise: "a backup under load is one moment; every byte is checked before it is called verified",
    held: [
      ["backup/load.test.ts", "backups under load each contain one moment, and restore to a directory that verifies"],
      ["backup/damage.test.ts", "verify"],
    ],
  },
  {
    reader: "an operator",
    promise: "an upgrade makes a checked copy first; a downgrade is refused with a sentence",
    held: [
      ["store/upgrade.test.ts", "converts a directory of the former release after making and checking a copy"],
      ["store/upgrade.test.ts", "is rejected by the former release in one line with exit code 1, without changes"],
    ],
  },
  {
    reader: "an operator",
    promise: "faults of a catalogue with file and line; a bad one at a reload changes nothing and is one line of the log",
    held: [
      ["cli/catalogue.test.ts", "reports a JSON syntax error with line and column"],
      ["cli/catalogue.test.ts", "keeps its catalogue and logs one error when SIGHUP loads an invalid file"],
    ],
  },
  {
    reader: "an operator",
    promise: "providers' keys appear nowhere; the master key can be changed",
    held: [
      ["security/canary.test.ts", "no HTTP response contains a secret"],
      ["security/canary.test.ts", "the metrics contain no secret and no id of a generation, account, key or request"],
      ["telemetry/traces.test.ts", "exports no prompt, key, authorization or media URL"],
      [SETTINGS, "print prints every setting in a form that reads back as the same settings, without credentials"],
      ["cli/providers.test.ts", "is sealed under a new master key by rotate-master-key"],
    ],
  },
  {
    reader: "an operator",
    promise: "packs and any whole amount from 10 to 5,000 USD; a payment credits once, and only when its news is genuine",
    held: [
      WALK,
      ["console/credits.test.ts", "returns the balance, the held credits, the packs and how credits are bought"],
      ["console/credits.test.ts", "a purchase of %d USD is credited once, with a receipt"],
      ["console/credits.test.ts", "rejects a purchase of %d USD"],
      ["billing/payments.test.ts", "credits once when its event is delivered three times"],
      ["billing/payments.test.ts", "with an event that is %s returns 400 and credits nothing"],
      ["billing/payments.test.ts", "is requested with the purchase's idempotency key, an invoice, and URLs of this service"],
    ],
  },
  {
    reader: "an operator",
    promise: "/metrics is right for promtool, needs the token or this machine, and names no customer",
    held: [
      ["telemetry/metrics.test.ts", "promtool accepts the output without warnings"],
      ["telemetry/requests.test.ts", "with an operator token, /metrics returns 200 for the token"],
      ["telemetry/metrics.test.ts", "no label contains a generation id, an account id, a key, a request id or a prompt"],
    ],
  },
  {
    reader: "an operator",
    promise: "completion, a manual page, an example in every --help",
    held: [
      ["cli/completion.test.ts", "bash completes commands, flags and choices"],
      ["cli/completion.test.ts", "lists every command with its examples, and has the settings, exit codes and files"],
      ["cli/flags.test.ts", "every command and every group of commands has an example"],
    ],
  },
];
