// Builds the seccomp system-call filter of a confined child.
//
// The filter denies sockets, new processes, writing files, and access to the memory or signals of other processes.

const [LOAD_WORD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_BITS, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06];
/** Offsets of the number, the architecture and the first argument of a call in the kernel's structure. */
const [NUMBER_AT, ARCHITECTURE_AT, FIRST_ARGUMENT_AT] = [0, 4, 16];
const ARGUMENT_BYTES = 8;
const ALLOW = 0x7fff_0000;
const ERROR = 0x0005_0000;
const [EPERM, ENOSYS] = [1, 38];
const CLONE_THREAD = 0x0001_0000;
/** O_WRONLY, O_RDWR, O_CREAT, O_TRUNC. */
const OPEN_TO_WRITE = 0x0000_0243;
/** From this number on, calls use another convention of x86-64 (x32) and would bypass the numbers below. */
const OTHER_CONVENTION = 0x4000_0000;

/**
 * `newer`: reported as missing (ENOSYS), so that the caller uses an older call whose arguments can be checked. `opens`: open
 * calls with the index of their flags argument.
 */
type Numbers = {
  architecture: number;
  clone: number;
  /** Sends a signal to a thread; the first argument is its process. */
  tgkill: number;
  newer: readonly number[];
  opens: readonly (readonly [call: number, flags: number])[];
  denied: readonly number[];
};

/**
 * Denied calls in this order: sockets; processes and signals to others; namespaces and mounts; the memory of other processes;
 * names, modes and lengths of files; calls that have had kernel vulnerabilities.
 */
const NUMBERS: Partial<Record<NodeJS.Architecture, Numbers>> = {
  x64: {
    ...{ architecture: 0xc000_003e, clone: 56, tgkill: 234, newer: [435, 437] },
    opens: [
      [2, 1],
      [257, 2],
    ],
    denied: [
      ...[41, 42, 43, 44, 46, 49, 50, 53, 288, 307],
      ...[57, 58, 62, 129, 297, 424, 434],
      ...[165, 166, 272, 308, 430, 442],
      ...[101, 310, 311, 438],
      ...[
        76, 82, 83, 84, 85, 86, 87, 88, 90, 91, 92, 93, 94, 133, 188, 189, 258, 259, 260, 263, 264, 265, 266, 268, 304, 316, 452,
      ],
      ...[248, 249, 250, 298, 321, 323, 425, 426, 427],
    ],
  },
  arm64: {
    ...{ architecture: 0xc000_00b7, clone: 220, tgkill: 131, newer: [435, 437] },
    opens: [[56, 2]],
    denied: [
      ...[198, 203, 202, 206, 211, 200, 201, 199, 242, 269],
      ...[129, 138, 240, 424, 434],
      ...[40, 39, 97, 268, 430, 442],
      ...[117, 270, 271, 438],
      ...[5, 6, 33, 34, 35, 36, 37, 38, 45, 52, 53, 54, 55, 265, 276, 452],
      ...[217, 218, 219, 241, 280, 282, 425, 426, 427],
    ],
  },
};

type Step = { code: number; yes?: number; no?: number; k: number };

/**
 * The filter in the kernel's format, eight bytes for each instruction; undefined for unsupported architectures.
 * @param pid the filtered process, which may send signals to itself
 */
export const filterOf = (arch: NodeJS.Architecture, pid: number): Uint8Array<ArrayBuffer> | undefined => {
  const numbers = NUMBERS[arch];
  if (!numbers) return undefined;
  const refuse: Step = { code: RETURN, k: ERROR | EPERM };
  const steps: Step[] = [
    { code: LOAD_WORD, k: ARCHITECTURE_AT },
    { code: JUMP_EQUAL, yes: 1, k: numbers.architecture },
    refuse,
    { code: LOAD_WORD, k: NUMBER_AT },
    { code: JUMP_AT_LEAST, no: 1, k: OTHER_CONVENTION },
    refuse,
    ...numbers.denied.flatMap((k): Step[] => [{ code: JUMP_EQUAL, no: 1, k }, refuse]),
    ...numbers.newer.flatMap((k): Step[] => [
      { code: JUMP_EQUAL, no: 1, k },
      { code: RETURN, k: ERROR | ENOSYS },
    ]),
    ...numbers.opens.flatMap(([k, flags]): Step[] => [
      { code: JUMP_EQUAL, no: 4, k },
      { code: LOAD_WORD, k: FIRST_ARGUMENT_AT + flags * ARGUMENT_BYTES },
      { code: JUMP_BITS, no: 1, k: OPEN_TO_WRITE },
      refuse,
      { code: RETURN, k: ALLOW },
    ]),
    { code: JUMP_EQUAL, no: 4, k: numbers.tgkill },
    { code: LOAD_WORD, k: FIRST_ARGUMENT_AT },
    { code: JUMP_EQUAL, yes: 1, k: pid },
    refuse,
    { code: RETURN, k: ALLOW },
    { code: JUMP_EQUAL, no: 3, k: numbers.clone },
    { code: LOAD_WORD, k: FIRST_ARGUMENT_AT },
    { code: JUMP_BITS, yes: 1, k: CLONE_THREAD },
    refuse,
    { code: RETURN, k: ALLOW },
  ];
  const program = new DataView(new ArrayBuffer(steps.length * 8));
  for (const [n, { code, yes = 0, no = 0, k }] of steps.entries()) {
    program.setUint16(n * 8, code, true);
    program.setUint8(n * 8 + 2, yes);
    program.setUint8(n * 8 + 3, no);
    program.setUint32(n * 8 + 4, k, true);
  }
  return new Uint8Array(program.buffer as ArrayBuffer);
};
