// What users and designers look for in the product, each with the tests that verify it.
import type { Held } from "../security/table.ts";

export type UserPromise = readonly [promise: string, ...held: Held[]];

const CONNECTION = "browser/console-connection.test.ts";
const CREDITS = "browser/console-credits.test.ts";
const FILES = "browser/console-files.test.ts";
const FRAME = "browser/console-frame.test.ts";
const GALLERY = "browser/console-gallery.test.ts";
const GENERATION = "browser/generation-page.test.ts";
const GENERATIONS = "browser/console-generations.test.ts";
const KEYS = "browser/console-keys.test.ts";
const MODELS = "browser/console-models.test.ts";
const MONEY = "browser/console-money.test.ts";
const NAVIGATION = "browser/console-navigation.test.ts";
const OPERATOR = "browser/console-operator.test.ts";
const OVERVIEW = "browser/console-overview.test.ts";
const PAGES = "browser/pages.test.ts";
const PLAYGROUND = "browser/playground.test.ts";
const STUDIO = "browser/playground-studio.test.ts";
const USERS = "browser/console-users.test.ts";
const VALUES = "browser/values-fit.test.ts";
const ACCOUNT = "cli/account-reads.test.ts";
const CLIENT = "cli/client.test.ts";
const FLAGS = "cli/flags.test.ts";
const SERVICE = "cli/service.test.ts";
const STARTING = "cli/startup-listener.test.ts";
const DOCUMENTATION = "http-unit/pages.test.ts";
const OPTIONS = "regressions/generate-option-validation.test.ts";
const PIPES = "regressions/output-to-fifo-or-link.test.ts";
const PYTHON = "client-sdk/python.test.ts";
const RECONNECTS: Held = [CONNECTION, "%s says so without a click, and shows afterwards what happened meanwhile"];
const NO_REQUEST: Held = [OPTIONS, "fails with a usage error before it sends a request"];
const UNWRITABLE: Held = [OPTIONS, "generate and download reject the unwritable output path %s before they send a request"];
const LOST_FILE: Held = [
  "regressions/missing-result-file.test.ts",
  "a missing result file is 404 by key, link and console, is logged, and fails doctor --deep and verify",
];
const VIEWER: Held = [KEYS, "shows a viewer the actions disabled, with the reason"];
const LOSS: Held = [OVERVIEW, "is named as a loss in words on Routes, Overview and Service"];
const FIRST_PROVIDER_KEY: Held = [
  "regressions/start-without-provider-key.test.ts",
  "a service without provider keys starts, prints how to set one and enables routes with the first key",
];
const PROGRESS: Held = [PLAYGROUND, "says what failed before and how long the work takes, while it runs"];
const CLOCK: Held = [GENERATION, "shows the elapsed time, the usual time and a growing axis while it runs"];
const DRAFT: Held = [
  PLAYGROUND,
  "keeps the prompt and the fields that fit when the model changes, after a reload and after a sign-in",
];
const SESSION_DRAFT: Held = [STUDIO, "keeps the draft when the session ends, shows it to the same user after the next sign-in"];
const COLUMNS: Held = [STUDIO, "has the form of %s on the left and results on the right, and its priced button stays in view"];
const LOCAL_FILE: Held = ["cli/local-media.test.ts", "uploads a local picture and saves the result, with one command"];
const DROPPED: Held = [FILES, "makes a clip from a picture that is dropped on its field, with a preview of the picture"];
const RESULT_AS_INPUT: Held = [FILES, "uses an uploaded file and a result as input, for models that take them"];
const PLACE: Held = [GALLERY, "is at the same place with the same generations after Back from a generation"];
const ONCE: Held = [PLAYGROUND, "an error of a submission is shown once, and disappears when the form changes"];
const AT_FIELD: Held = [GENERATIONS, "reports an invalid value at its field, and submits nothing without a required field"];
const AUDIT: Held = [OVERVIEW, "shows changes in sentences with names, filters them, and shows details without JSON"];
const TODAY: Held = [MONEY, "shows today as a whole bar of its groups, also if it is the only day"];
const OWN_USAGE: Held = [MONEY, "an operator sees the usage of the own account, and all accounts after the switch"];
const WIDTHS: Held = [VALUES, "has no value narrower than its longest word, %s"];

export const USER_PROMISES: readonly UserPromise[] = [
  ["Every value on every page is as wide as its longest word, from a phone to a wide screen", WIDTHS],
  [
    "A submission is answered in view: its card appears without scrolling and says that it runs",
    [PLAYGROUND, "generates variants that are charged each by itself, and shows every answer without scrolling"],
  ],
  [
    "A result opens in a lightbox over the form, which keeps its prompt",
    [PLAYGROUND, "opens a result in the lightbox, browses by arrow keys and returns to the form, which keeps the prompt"],
  ],
  ["The prompt survives another model, a reload and the end of the session", DRAFT, SESSION_DRAFT],
  ["A wrong option of `generate` is a usage error before anything is sent or charged", NO_REQUEST],
  ["A local file or an own result is an input, in the console and in one command", LOCAL_FILE, DROPPED, RESULT_AS_INPUT],
  ["A path that cannot be written is reported before the generation is submitted", UNWRITABLE],
  [
    "A result file that the disk has lost is 404 with a sentence, is shown by its page, and fails the checks of the operator",
    LOST_FILE,
    [OVERVIEW, "is said on the page of its generation"],
  ],
  [
    "The programs of the client's README and of the guides compile in strict mode and run",
    ["client-sdk/packed.test.ts", "the programs of the client's README and of the guides compile in strict mode"],
    ["client-sdk/packed.test.ts", "the quick start of the client's README runs unchanged on %s"],
  ],
  ["A live service starts without a provider key, and the first key can be set in the console", FIRST_PROVIDER_KEY],
  ["A running generation shows a clock, the usual time and a growing axis", CLOCK, PROGRESS],
  [
    "A page says that the service is unreachable, and recovers by itself",
    RECONNECTS,
    [CONNECTION, "a page whose code was not loaded yet says so, and is shown when the service is back"],
  ],
  ["The bar of today in the usage chart is whole, also as the only one", TODAY],
  ["An error is shown once, at its field, and disappears when it is corrected", ONCE, AT_FIELD],
  ["Back from a generation returns to the same place in the list", PLACE],
  ["A route that can lose money is named so on three operator pages, and routes sort by margin", LOSS],
  [
    "The first operator of a simulator owns the test credit of the printed key",
    ["regressions/first-admin-account.test.ts", "the first operator of a simulator owns the test credit of the printed key: %s"],
  ],
  [
    "A failed generation says once that nothing was charged",
    [MONEY, "a refused generation costs nothing, and its page says so once"],
    [SERVICE, "generate --json prints one JSON document on standard output, and leaves no file when the generation fails"],
  ],
  ["One transfer is counted in the singular", [MONEY, "a running generation has one transfer, in the singular"]],
  [
    "The form of a new account says that its users can read its name",
    [OPERATOR, "creates an account with its initial credits, and says who can read its name"],
  ],
  ["Escape does not lose a new key before it is copied", [KEYS, "is not lost by Escape before it is copied"]],
  [
    "An error at one field of a key leaves the other fields at their height",
    [KEYS, "keeps the height of fields beside one with an error"],
  ],
  ["The list view breaks no word and keeps rows low", [GALLERY, "breaks no word of its list view at a width of %i"]],
  ["The lines of the users' table reach its last column", [USERS, "draws the line of each row to the last column"]],
  [
    "A prompt of blanks does not count as filled in, and such a generation of the API is opened by the name of its model",
    ["console/generations-form.test.ts", "parses numbers, switches and lists, and omits empty fields and defaults"],
    [GALLERY, "opens a generation whose prompt has only blanks by the name of its model: %s"],
  ],
  [
    "No page repeats a request, and JSON is compressed",
    [FRAME, "%s requests no other host, repeats no request, and logs no error or policy violation"],
    ["regressions/http-compression.test.ts", "compresses %s only for clients that accept gzip"],
  ],
  [
    "The filters of the list do not move while the page loads",
    [GALLERY, "has its filters in one line that does not move while models and keys are loaded"],
  ],
  [
    "The list loads clips near the visible part only, and no sound",
    [GALLERY, "loads no sound, and clips only near the visible part"],
  ],
  [
    "Without enough credits, the playground leads to the credits and names no field that it lacks",
    [MONEY, "without enough credits the playground leads to the credits and names no field that it lacks"],
  ],
  [
    "A viewer sees actions disabled, with the reason, before a click",
    VIEWER,
    [STUDIO, "shows a viewer the button disabled, with the reason"],
  ],
  [
    "A viewer is invited without an account and reads what the role may do",
    [USERS, "invites a viewer to no account, marks what is required, and lets the invited user read what the role may do"],
  ],
  [
    "A stored provider key that the configuration overrides is shown and can be removed; a key of another form is refused",
    [OPERATOR, "shows a stored key that the configuration overrides, and removes it"],
    ["console/provider-keys.test.ts", "refuses a key of %s that has another form, and stores nothing"],
  ],
  ["The usage page of an operator begins with the own account", OWN_USAGE],
  [
    "A kind of transfer has one name on all pages of the console, and the CSV has the name of the API",
    [MONEY, "names a kind in the filter, in the row and on the page of the generation alike"],
  ],
  [
    "A route has the same state in the inspector and on the page Routes",
    ["browser/inspector-events.test.ts", "name a route that its circuit breaker lets pass as the routes page does"],
  ],
  [
    "Enter in a field of the playground spends nothing",
    [PLAYGROUND, "Enter in a field submits nothing, and Ctrl with Enter submits once"],
  ],
  [
    "`-o -` writes the file to standard output",
    [PIPES, "-o %s writes the bytes to standard output and all messages to standard error"],
    [PIPES, "generate -o - writes the file into a pipe"],
  ],
  [
    "`--json` prints one document with the saved paths; an error has its code and request id once",
    [CLIENT, "--json prints one document with the saved files, and an API error has its code and request id once"],
  ],
  [
    "A cost limit that is too low is answered with the lowest price, and an invalid one with the flag",
    ["quote/plan.test.ts", "max_cost_exceeded max_cost_usd: too low; the cheapest route costs"],
    NO_REQUEST,
  ],
  [
    "A directory without a database is exit code 78 for `verify` as for other commands",
    [FLAGS, "makes %p exit with %d and a message without a stack trace"],
  ],
  [
    "A file that exists is not replaced without `--force`, and a type that differs from the extension is reported",
    [CLIENT, "%s is not replaced, and nothing is submitted"],
    [CLIENT, "a file whose type differs from the extension of its name is saved, and reported"],
  ],
  [
    "Programs say from the first lost connection on that they try again",
    ["client-sdk/generate.test.ts", "is tried ten times with growing pauses, and the caller hears of each"],
    ["docs/examples.test.ts", "example says after the first lost connection that it tries again"],
  ],
  [
    "Ctrl-C ends the Python example with one line that says how to get the generation",
    [PYTHON, "Ctrl-C ends the Python example with 130 and one line"],
  ],
  [
    "A browser gets words, dates and amounts of one language",
    [MONEY, "a German browser gets dates, amounts and words of one language on every money page"],
    [GENERATION, "has the words, amounts and questions of a German browser"],
    ["browser/inspector-events.test.ts", "are in the language of the browser, with its dates and numbers"],
  ],
  [
    "Addresses of the documentation may end with a slash, a browser reads a page for an unknown path, and pages have an icon",
    [DOCUMENTATION, "addresses of the documentation with a slash at the end redirect to their page"],
    [DOCUMENTATION, "a browser reads a page for an unknown path"],
    [DOCUMENTATION, "every page has the icon of the product"],
  ],
  [
    "The example of the reference has the real amounts and an Idempotency-Key",
    [PAGES, "the example of the reference has the amounts that the service quotes and reserves"],
    [DOCUMENTATION, "the example of a submission in the reference has an Idempotency-Key"],
  ],
  [
    "Required reasons of operators are marked before they are missing",
    [OPERATOR, "disables a route with a reason, enables it again, and sorts rows by price"],
  ],
  ["The start names the revision that runs", [SERVICE, "the start names the revision of the sources"]],
  [
    "Common and repeated passwords are refused wherever a password is chosen",
    ["console/password-rules.test.ts", "the set-up link, an invitation, a sign-up, a reset and a change of the password refuse"],
  ],
  [
    "The model of an address is in view when the playground opens",
    [STUDIO, "shows the model of its address with price and usual time"],
  ],
  ["An abandoned checkout can be cancelled in the list", [MONEY, "an abandoned checkout can be canceled in the list"]],
  [
    "A relative path belongs to the directory of the caller",
    ["build/install.test.ts", "a command that npm runs from another directory writes a relative path there"],
  ],
  ["All commands mark success and failure alike", [FLAGS, "every command uses the same two marks"]],
  [
    "The inspector of the simulator says that it needs no sign-in on this machine",
    ["browser/inspector-events.test.ts", "say that no sign-in is needed on the machine of the simulator"],
  ],
  [
    "Files are given to a field by drop, paste and choice, and are stored once",
    [FILES, "takes pasted, chosen and picked files into a list, keeps typed links, and refuses another kind"],
    DROPPED,
    LOCAL_FILE,
  ],
  [
    "A value that does not fit its column is found by a check of every page",
    [VALUES, "the check finds a value in a column that is too narrow"],
  ],
  ["The playground has two columns, and the button with the price stays in view", COLUMNS],
  ["A draft belongs to a user and stays through navigation, reload and sign-in", SESSION_DRAFT, DRAFT],
  ["A command checks its options and paths before it spends", NO_REQUEST, UNWRITABLE],
  ["Playground and page of a generation show elapsed and usual time, the route, and what failed before", PROGRESS, CLOCK],
  [
    "A result is downloaded, copied as a link, used as input, repeated and opened where it is shown",
    [STUDIO, "a result can be downloaded, copied as a link, used as input, repeated and opened"],
  ],
  [
    "The chooser shows price, time and tasks of each model, favourites first, and filters by kind",
    [STUDIO, "and the chooser lists models of the simulator first"],
    [MODELS, "a favourite is listed first here and in the playground"],
  ],
  [
    "Every model has a page with prices, routes, input and request",
    [MODELS, "the page of a model shows prices, routes, input and request, and opens the playground with it"],
  ],
  [
    "A new account has first steps, which disappear when they are done",
    [MONEY, "the first steps follow what the account has, can be hidden, and are gone when all are done"],
  ],
  [
    "The side bar leads to the documentation and back and to the inspector, and a generation to its replay in the inspector",
    [NAVIGATION, "leads to the documentation, and the documentation leads back"],
    [NAVIGATION, "leads operators to the inspector from the side bar and the palette, and no member"],
    [FRAME, "links to the inspector only if it is enabled"],
  ],
  [
    "All texts use one vocabulary",
    ["tidy/words.test.ts", "no file and no file name contains a rejected word"],
    ["tidy/words.test.ts", "the help of every command contains no rejected word"],
  ],
  [
    "Models are compared side by side with one prompt",
    [PLAYGROUND, "compares models side by side with one prompt, and shows the price of each and of both"],
  ],
  [
    "The list is searched by text and id, counted, filtered by days, and cleared with one button",
    [GALLERY, "is searched by text and id, says how many it shows, and is filtered by days; one button clears all"],
    PLACE,
  ],
  [
    "A generation is cancelled where it was made and on its page",
    [FILES, "cancels generations from a dropped picture where they were made and on their pages, and deletes one"],
    ["api/cancel.test.ts", "fails as cancelled at once, and its whole hold is released"],
  ],
  [
    "The page Providers saves a key and tests it without a purchase",
    FIRST_PROVIDER_KEY,
    [OPERATOR, "saves and tests a provider key, shows it nowhere on the page, and removes it"],
  ],
  [
    "The page of a generation is named by its prompt and shows result, input, cost, attempts and details in this order",
    [GENERATION, "is named by the prompt, shows result, input, cost and attempts in this order, and pictures of the input"],
  ],
  ["Lists and pages continue after a lost connection without a reload", RECONNECTS],
  [
    "Usage is grouped by model, key and end user; a group leads to its generations",
    TODAY,
    [MONEY, "groups by key and end user, and a row of an end user opens that user's generations"],
  ],
  [
    "The page Routes has one line for each route, in groups of models",
    ["browser/console-routes.test.ts", "has one line for each route, in groups of models, with its actions in a menu"],
  ],
  [
    "The API lists, cancels and deletes generations, waits for their end, sends webhooks, and has balance, usage and single models",
    ["api/generation-list.test.ts", "lists the generations of the account as polls show them, newest first"],
    ["api/account.test.ts", "is that of the account, and a key that only reads may request it"],
    ["api/models.test.ts", "returns the entry of the model list without a key, and 304 for its ETag"],
    ["api/idle-waiting.test.ts", "is not cut when the wait is longer than server.keep_alive_s"],
    ["api/deletion.test.ts", "has no prompt, input, metadata and end user any more"],
    ["browser/console-webhooks.test.ts", "creates an endpoint, shows its secret, sends a test event that the secret verifies"],
    ["client-sdk/reading.test.ts", "iterates over all generations, one request for each page"],
  ],
  ["A lost result file is a state, which `doctor --deep` and `verify` find", LOST_FILE],
  ["An error uses the names of the form and moves the focus to its field", AT_FIELD],
  [
    "A misspelled model is answered with the names that resemble it",
    ["domain/suggestions.test.ts", "the API suggests the model of a misspelled id"],
  ],
  ["Shells complete commands, flags and their choices", ["cli/completion.test.ts", "bash completes commands, flags and choices"]],
  [
    "The ledger has one row for each generation, which opens to its transfers",
    [MONEY, "has one row for a generation with its final amount, which links to it and opens to its single transfers"],
    [CREDITS, "shows each entry and purchase as a card on a phone and as a row on a wide screen"],
  ],
  [
    "The reference is readable before its script, and guides use the reader's own address and key",
    [PAGES, "the API reference is readable without scripts"],
    [PAGES, "a guide puts the reader's address and key into its programs, and sends them nowhere"],
    ["docs/guides.test.ts", "the shell programs of the quick start submit, wait and download"],
  ],
  ["Ctrl-K finds pages, models and ids", [NAVIGATION, "opens by keyboard, and leads to a page, a model, and what an id names"]],
  [
    "The audit log is in sentences with linked names",
    AUDIT,
    ["console/describe-audit-entry.test.ts", "links the account, the key and the generation that a sentence names"],
  ],
  [
    "The product has a mark and icons, one user menu, a sign-in card, and pages that use a wide screen evenly",
    [NAVIGATION, "has the mark of the product, an icon for each entry, and theme, profile and sign-out in one menu"],
    [NAVIGATION, "uses a width of %i: pages reach both margins alike, and the sign-in is a card in the middle"],
  ],
  [
    "A browser that comes while the service starts reads why it waits, on a page that reloads",
    [STARTING, "a browser reads a page that reloads until the service is ready"],
    [STARTING, "the page states what the start waits for, as /readyz does, and escapes it"],
  ],
  [
    "The command line lists generations, balance and usage, and completes the ids of models",
    [ACCOUNT, "generations list prints the newest generations first, and filters by status, model, metadata and time"],
    [ACCOUNT, "balance prints what is available and held, and the limits of the key with what is left"],
    [ACCOUNT, "usage prints the ended generations by day, model, key or end user, with the total"],
    ["cli/completion.test.ts", "bash completes the models of the catalogue when no service answers"],
  ],
];
