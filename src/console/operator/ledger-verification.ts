// Verifies the ledger of the running service: thirteen invariants and the sums.
//
// One run at a time, in separate threads.
import type { LedgerSums } from "../../store/store.ts";
import type { SumsCompared, VerificationResult, VerificationRun, VerificationView } from "../operator-dto.ts";
import type { ConsoleRequest } from "../request-context.ts";
import type { OperatorDeps } from "./deps.ts";

const INVARIANTS = 13;

/** Sums of all balances beside the same sums over all transfers. */
const compared = ({ available, held, charged, moved }: LedgerSums): SumsCompared[] => {
  const of = (kind: string) => moved[kind] ?? 0;
  return [
    {
      name: "Available, held and charged: all that was put in, less what was taken back",
      balanceCredits: available + held + charged,
      transferCredits: of("topup") + of("adjust"),
    },
    { name: "Charged: all captures", balanceCredits: charged, transferCredits: of("capture") },
    {
      name: "Held: all holds, less what was captured or released",
      balanceCredits: held,
      transferCredits: of("hold") - of("capture") - of("release"),
    },
  ];
};

export const createLedgerVerification = ({ long, clock }: Pick<OperatorDeps, "long" | "clock">) => {
  let running: VerificationRun | null = null;
  let last: VerificationResult | null = null;

  const run = async (mine: VerificationRun): Promise<void> => {
    const startedMono = performance.now();
    const over = (found: Pick<VerificationResult, "transfers" | "sums" | "fault">) => {
      last = { ...mine, ...found, tookMs: Math.round(performance.now() - startedMono) };
      running = null;
    };
    try {
      const sums = await long.sums();
      mine.results = await long.verify(clock.nowMs(), (done, of, soFar) => Object.assign(mine, { done, of, results: soFar }));
      over({ transfers: sums.movements, sums: compared(sums), fault: null });
    } catch (fault) {
      over({ transfers: 0, sums: [], fault: fault instanceof Error ? fault.message : String(fault) });
    }
  };

  const view = (): VerificationView => ({ invariants: INVARIANTS, running, last });
  return {
    show: async (): Promise<VerificationView> => view(),
    /** A call during a run joins it. */
    begin: async ({ who }: { who: Pick<ConsoleRequest["who"], "email"> }): Promise<VerificationView> => {
      if (running === null) {
        running = { startedAtMs: clock.nowMs(), by: who.email, done: 0, of: 0, results: [] };
        void run(running);
      }
      return view();
    },
  };
};
