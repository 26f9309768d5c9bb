// Rules for a new password: its length, and none that an attacker tries first.
//
// They follow NIST SP 800-63B: no rules of composition, but no commonly used, repetitive or sequential passwords, and none with the
// name of the user. Everything is checked here, without a request to another host.
import { MAX_PASSWORD_CHARS, MIN_PASSWORD_CHARS } from "../domain/user-mutations.ts";
import { ConsoleRefused } from "./request-context.ts";

/** Words that passwords begin with: an attacker adds years, digits and signs to them. */
const COMMON_WORDS = [
  ...[
    "genrouter",
    "password",
    "passwort",
    "passw0rd",
    "p4ssw0rd",
    "pa55w0rd",
    "pa55word",
    "passphrase",
    "motdepasse",
    "contrasena",
  ],
  ...[
    "letmein",
    "welcome",
    "willkommen",
    "bienvenue",
    "iloveyou",
    "ichliebedich",
    "princess",
    "sunshine",
    "football",
    "baseball",
  ],
  ...[
    "basketball",
    "superman",
    "starwars",
    "whatever",
    "trustno1",
    "changeme",
    "administrator",
    "admin",
    "root",
    "login",
    "default",
  ],
  ...["secret", "geheim", "hello", "hallo", "monkey", "dragon", "shadow", "master", "michael", "jennifer", "charlie", "computer"],
  ...[
    "internet",
    "samsung",
    "google",
    "summer",
    "sommer",
    "winter",
    "spring",
    "autumn",
    "herbst",
    "january",
    "december",
    "monday",
  ],
  ...["test", "temp", "user", "demo", "pass", "love"],
];
/** Rows and columns of a keyboard, the alphabet and the digits, as fingers follow them. */
const WALKS = [
  ...["01234567890", "abcdefghijklmnopqrstuvwxyz", "qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm"],
  ...["1q2w3e4r5t6y7u8i9o0p", "q1w2e3r4t5y6u7i8o9p0", "a1s2d3f4g5h6j7k8l9", "1a2s3d4f5g6h7j8k9l", "z1x2c3v4b5n6m7"],
  ...[
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
    "qazwsxedcrfvtgbyhnujm",
    "zaqxswcdevfrbgtnhymju",
    "1qazxsw23edcvfr45tgbnhy6",
    "qawsedrftgyhujik",
  ],
  ...["qweasdzxc", "1234qwerasdfzxcv", "123qweasdzxc", "12qw34er56ty78ui", "102030405060708090", "112233445566778899"],
];
/** Common passwords of at least 12 characters that the rules above leave, from the frequency lists of zxcvbn 4.4.2 (MIT). */
const COMMON_PASSWORDS = new Set([
  ...["leavemealone", "sonyericsson", "finalfantasy", "websolutions", "justinbieber", "needforspeed", "businessbabe"],
  ...["counterstrike", "whosyourdaddy", "devilmaycry4", "iseedeadpeople", "jamesbond007", "4815162342lost", "lost4815162342"],
  ...["playstation2", "playstation3", "andrewjackie", "christopher1", "ingodwetrust", "minecraft123", "peanutbutter"],
  ...["residentevil", "avrillavigne", "ticketmaster", "stratocaster", "punksnotdead", "nightcrawler", "sanfrancisco"],
  ...["greenlantern", "warhammer40k", "morganstanley", "michaeljackson", "ilovemyfamily", "weihnachtsbaum", "systemofadown"],
  ...[
    "mortalkombat",
    "thecakeisalie",
    "sonnenschein",
    "ghbdtnghbdtn",
    "ghjcnjgfhjkm",
    "gfhjkmgfhjkm",
    "123123qweqwe",
    "123qwe456rty",
  ],
]);
/** Characters that must remain without common words and walks. */
const LEAST_OWN = 6;
const LEAST_DISTINCT = 5;
/** Shorter parts of an address occur in many words. */
const LEAST_NAME = 4;

const reversed = (text: string): string => [...text].reverse().join("");
const WALKED = WALKS.flatMap((walk) => [walk, reversed(walk)]);
const LONGEST_WALK = Math.max(...WALKS.map(({ length }) => length));

/** Removes the longest pieces of walks: at least 4 characters, or 3 digits. */
const withoutWalks = (text: string): string => {
  let left = "";
  for (let at = 0; at < text.length; ) {
    let length = Math.min(LONGEST_WALK, text.length - at);
    const isWalk = (piece: string) =>
      piece.length >= (/^\d+$/.test(piece) ? 3 : 4) && WALKED.some((walk) => walk.includes(piece));
    while (length >= 3 && !isWalk(text.slice(at, at + length))) length -= 1;
    if (length < 3) left += text[at];
    at += length < 3 ? 1 : length;
  }
  return left;
};

/** Whether a text is one shorter text again and again, such as `abcabcab`, or has very few characters. */
const isRepetition = (text: string): boolean => {
  if (new Set(text).size < LEAST_DISTINCT) return true;
  for (let period = 1; period <= text.length / 2; period++)
    if (text.slice(period) === text.slice(0, text.length - period)) return true;
  return false;
};

const isCommon = (text: string): boolean => {
  if (COMMON_PASSWORDS.has(text)) return true;
  const words = COMMON_WORDS.reduce((left, word) => left.replaceAll(word, ""), text);
  return withoutWalks(words).length < LEAST_OWN;
};

/** Whether a text contains a part of the name in an e-mail address. */
const hasNameOf = (text: string, email: string): boolean =>
  (email.split("@")[0] ?? "").split(/[^\p{L}\p{N}]+/u).some((part) => part.length >= LEAST_NAME && text.includes(part));

const ADVICE = "Several random words are a good password.";

/** What is wrong with a new password, as a sentence; undefined if nothing is. @param email in lower case */
export const passwordFault = (password: string, email: string): string | undefined => {
  const chars = [...password].length;
  if (chars < MIN_PASSWORD_CHARS || chars > MAX_PASSWORD_CHARS)
    return `Password: use ${MIN_PASSWORD_CHARS} to ${MAX_PASSWORD_CHARS} characters. ${ADVICE}`;
  const text = password.normalize("NFKC").toLowerCase();
  if (text.trim() === email || hasNameOf(text, email))
    return `Password: it must not contain the name in your e-mail address. ${ADVICE}`;
  // Signs between letters do not make a password harder to guess. A password of signs only is judged as it is.
  const plain = text.replaceAll(/[^\p{L}\p{N}]/gu, "") || text;
  if (isRepetition(plain)) return `Password: it repeats the same characters. ${ADVICE}`;
  if (isCommon(plain)) return `Password: it is a common password and easy to guess. ${ADVICE}`;
  return undefined;
};

/** @throws ConsoleRefused `invalid` */
export const requirePassword = (password: string, email: string): void => {
  const fault = passwordFault(password, email);
  if (fault !== undefined) throw new ConsoleRefused("invalid", fault);
};
