// Shares one commit listener among several; without listeners a commit costs one check.
import type { CommitListener } from "./post-commit.ts";

/** Returns a function that creates a separate listener for each caller. */
export const createCommitListeners = (whole: CommitListener): (() => CommitListener) => {
  const places: CommitListener[] = [];
  const changed = () => {
    const lookers = places.flatMap(({ committed }) => committed ?? []);
    if (lookers.length < 2) whole.committed = lookers[0] ?? null;
    else
      whole.committed = (mutation, outcome) => {
        for (const look of lookers) look(mutation, outcome);
      };
  };
  return () => {
    let look: CommitListener["committed"] = null;
    const place: CommitListener = {
      get committed() {
        return look;
      },
      set committed(next) {
        look = next;
        changed();
      },
    };
    places.push(place);
    return place;
  };
};
