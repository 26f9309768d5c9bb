// Several who look on at what is committed, where there is place for one; while nobody does, a mutation costs one look.
import type { CommitListener } from "./post-commit.ts";

/** Gives each of those who look on a place of their own at one watch. */
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
