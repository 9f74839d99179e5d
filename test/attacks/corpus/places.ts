/** The places on this machine that hold secrets. All absolute. */
export interface Places {
  /** The server's home folder. */
  home: string;
  keyFile: string;
  dataFolder: string;
  /** Process ids: the server, and a process of the same user beside it. */
  server: number;
  beside: number;
  /** Process id of a git that fetches for the server, with a token in its environment. */
  fetching: number;
  /** Checkout and mirror of another repository that is under review. */
  neighbor: { checkout: string; mirror: string };
  /** A program that leaves a file in `sentinels` if it runs; that folder must stay empty. */
  program: string;
  sentinels: string;
}
