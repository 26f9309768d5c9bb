// Blocks the last transaction of a store migration until it waits, and then terminates its connection.
import { SQL } from "bun";

const WAITING = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
const LOOKS = 500;

export const makeHolder = (url: string) => {
  const sql = new SQL(url, { max: 2 });
  let free: () => void = () => undefined;
  const held = new Promise<void>((done) => {
    free = done;
  });
  let holding: Promise<unknown> = Promise.resolve();
  return {
    hold: (): void => {
      holding = sql.begin(async (line) => {
        await line.unsafe("LOCK TABLE move IN ACCESS SHARE MODE");
        await held;
      });
    },
    /** @throws when no transaction waited. */
    cutOff: async (): Promise<void> => {
      for (let look = 0; look < LOOKS; look += 1) {
        const [waiting] = await sql.unsafe(WAITING);
        if (waiting) {
          await sql.unsafe(`SELECT pg_terminate_backend(${waiting.pid})`);
          return;
        }
        await Bun.sleep(20);
      }
      throw new Error("the move did not wait");
    },
    letGo: async (): Promise<void> => {
      free();
      await holding;
      await sql.close();
    },
  };
};
