import type { Access, App, Repository, Token, UserToken } from "./model.ts";
import type { GitHubState } from "./state.ts";

/** A request on its way to its endpoint; path, query and body have passed the description. */
export interface Call {
  state: GitHubState;
  path: Record<string, string>;
  query: Record<string, string | number | undefined>;
  // The description was checked before; an endpoint states the type that was checked.
  body: unknown;
  accept: string;
}

export interface RepositoryCall extends Call {
  token: Token;
  repository: Repository;
}

export type Answer =
  | { status: number; body?: unknown; headers?: Record<string, string> }
  /** One page of the list is shown, each item through `show`; `wrap` puts the page into an object. */
  | {
      status: 200;
      list: readonly unknown[];
      show?: (item: unknown) => unknown;
      wrap?: (page: unknown[], total: number) => unknown;
    }
  | { status: 200; raw: string | Buffer; type: string };

/** A permission and the access an endpoint needs; one of several is enough. */
export type Needs = readonly [string, Access][];

export type Endpoint =
  | { for: "anyone"; handle(call: Call): Answer | Promise<Answer> }
  | { for: "app"; handle(call: Call, app: App): Answer | Promise<Answer> }
  | { for: "client"; handle(call: Call, app: App): Answer | Promise<Answer> }
  | { for: "user"; handle(call: Call, token: UserToken): Answer | Promise<Answer> }
  | { for: "token"; handle(call: Call, token: Token): Answer | Promise<Answer> }
  | {
      for: "installation";
      needs: Needs;
      /** Any token works for a public repository, as on GitHub for everything public. */
      ofPublicOnes?: boolean;
      handle(call: RepositoryCall): Answer | Promise<Answer>;
    };

export type Endpoints = Record<string, Endpoint>;

export const forAnyone = (handle: (call: Call) => Answer | Promise<Answer>): Endpoint => ({
  for: "anyone",
  handle,
});
export const forApp = (handle: (call: Call, app: App) => Answer | Promise<Answer>): Endpoint => ({
  for: "app",
  handle,
});
/** An endpoint for the App as an OAuth client. */
export const forClient = (handle: (call: Call, app: App) => Answer | Promise<Answer>): Endpoint => ({
  for: "client",
  handle,
});
/** An endpoint for a person, through an App. */
export const forUser = (handle: (call: Call, token: UserToken) => Answer | Promise<Answer>): Endpoint => ({
  for: "user",
  handle,
});
/** An endpoint about everything that a token can access. */
export const forToken = (handle: (call: Call, token: Token) => Answer | Promise<Answer>): Endpoint => ({
  for: "token",
  handle,
});
export const inRepository = (
  needs: Needs,
  handle: (call: RepositoryCall) => Answer | Promise<Answer>,
  options: { ofPublicOnes?: boolean } = {},
): Endpoint => ({ for: "installation", needs, handle, ...options });

export const ok = (body: unknown): Answer => ({ status: 200, body });
/** A list; only the items of the requested page are computed. */
export const listed = <Item>(list: readonly Item[], show: (item: Item) => unknown): Answer => ({
  status: 200,
  list,
  show: (item) => show(item as Item),
});
export const created = (body: unknown): Answer => ({ status: 201, body });
