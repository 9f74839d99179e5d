/** Where on this machine there is something to steal, for paths that lead there. All absolute. */
export interface Places {
  /** The server's. */
  home: string;
  keyFile: string;
  dataFolder: string;
  /** Process ids: of the server, of a process of the same user that runs beside it. */
  server: number;
  beside: number;
  /** Of a git that fetches for the server, with a token in its environment. */
  fetching: number;
  /** Checkout and mirror of another repository, of which a review is under way. */
  neighbour: { checkout: string; mirror: string };
  /** A program that leaves a file in `sentinels` when it is run, and the folder in which nothing may appear. */
  program: string;
  sentinels: string;
}
