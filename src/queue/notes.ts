/**
 * Small facts that are worth keeping and can be found out again: which answer of GitHub is known (ETags), up to which
 * delivery its list was read. Every method resolves only when its effect is on disk.
 */
export interface Notes {
  /** Null where there is none. */
  read(name: string): Promise<string | null>;
  write(name: string, text: string): Promise<void>;
  remove(name: string): Promise<void>;
}
