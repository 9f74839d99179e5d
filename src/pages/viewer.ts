import type { SeenRepository } from "../github/user-client.ts";

/** A repository that a person may see, as GitHub says. */
export type VisibleRepository = SeenRepository;

/** What every page finds in its context; the log-in has set it. */
export interface PagesEnv {
  Variables: { viewer: Viewer };
}

/** A person who is logged in. */
export interface Viewer {
  /** GitHub's numeric id. */
  account: number;
  login: string;
  /** Operators of the server also see its health, and names, runs, costs and figures of all repositories; no titles or texts of the others. */
  isOperator: boolean;
  /** What GitHub lets this person see through this App's installations. */
  repositories: readonly VisibleRepository[];
}
