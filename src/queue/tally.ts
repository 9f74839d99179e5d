/** What a job is about to do, of that which has a limit. */
export interface TallyEntry {
  installation: number;
  /** The repository's id: what is kept of it goes with it. */
  repository: number;
  /** Names the work itself: whatever is done again for it, after a crash too, is the same entry. */
  name: string;
  /** Milliseconds since 1970. */
  at: number;
}

/** At most so many entries of an installation below one name since a moment. */
export interface TallyLimit {
  /** What is limited: "pull 7#3", "person octocat". */
  scope: string;
  most: number;
  /** Milliseconds since 1970. */
  since: number;
}

/** Counts what is done so often at most. Every method resolves only when its effect is on disk. */
export interface Tally {
  /**
   * Enters what is about to be done below each of the limits' names, unless one of them is full: then below none. What was
   * entered before passes and counts once. Resolves to the limit that is reached, null where there is room.
   */
  enter(entry: TallyEntry, limits: readonly TallyLimit[]): Promise<TallyLimit | null>;
}
