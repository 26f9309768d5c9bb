// Places of what runs concurrently, such as uploads and event streams: their number is bounded in all and for each owner.

export type Places<Owner> = {
  /** Takes a place. @returns why none is free; null if one was taken */
  take: (owner: Owner) => "owner" | "all" | null;
  release: (owner: Owner) => void;
};

export const createPlaces = <Owner>(most: { ofOwner: number; inAll: number }): Places<Owner> => {
  const taken = new Map<Owner, number>();
  let all = 0;
  return {
    take: (owner) => {
      const own = taken.get(owner) ?? 0;
      if (own >= most.ofOwner) return "owner";
      if (all >= most.inAll) return "all";
      taken.set(owner, own + 1);
      all += 1;
      return null;
    },
    release: (owner) => {
      const others = (taken.get(owner) ?? 1) - 1;
      if (others > 0) taken.set(owner, others);
      else taken.delete(owner);
      all -= 1;
    },
  };
};
