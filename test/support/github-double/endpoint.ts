import {
  type Caller,
  requireApp,
  requireClient,
  requirePermission,
  requireRepository,
  requireToken,
  requireUser,
} from "./credentials.ts";
import { notFound } from "./errors.ts";
import type { Access, Repository, Token } from "./model.ts";
import type { GitHubState } from "./state.ts";

/** A request on its way to its endpoint; path, query and body have passed the description. */
export interface Call {
  state: GitHubState;
  path: Record<string, string>;
  query: Record<string, string | number | undefined>;
  // The description was checked before; an endpoint states the type that was checked.
  body: unknown;
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
    };

/** A permission and the access an endpoint needs; one of several is enough. */
export type Needs = readonly [string, Access][];

/** Checks the caller, then returns what answers: a token without the permission learns nothing about its body. */
export type Endpoint = (call: Call, caller: Caller) => () => Answer | Promise<Answer>;

export type Endpoints = Record<string, Endpoint>;

const once =
  <Who>(required: (caller: Caller) => Who) =>
  (handle: (call: Call, who: Who) => Answer | Promise<Answer>): Endpoint =>
  (call, caller) => {
    const who = required(caller);
    return () => handle(call, who);
  };

export const forAnyone = once((caller) => caller);
export const forApp = once(requireApp);
/** An endpoint for the App as an OAuth client. */
export const forClient = once(requireClient);
/** An endpoint for a person, through an App. */
export const forUser = once(requireUser);
/** An endpoint about everything that a token can access. */
export const forToken = once(requireToken);

/** With `ofPublicOnes`, any token works for a public repository, as on GitHub for everything public. */
export const inRepository =
  (
    needs: Needs,
    handle: (call: RepositoryCall) => Answer | Promise<Answer>,
    { ofPublicOnes = false } = {},
  ): Endpoint =>
  (call, caller) => {
    const token = requireToken(caller);
    const { owner, repo } = call.path;
    if (!owner || !repo) throw notFound();
    const found = call.state.repository(owner, repo);
    if (ofPublicOnes && found?.private === false && !token.repositories.includes(found)) {
      return () => handle({ ...call, token, repository: found });
    }
    const repository = requireRepository(call.state, token, owner, repo);
    requirePermission(token, needs);
    return () => handle({ ...call, token, repository });
  };

export const ok = (body: unknown): Answer => ({ status: 200, body });
/** A list; only the items of the requested page are computed. */
export const listed = <Item>(list: readonly Item[], show: (item: Item) => unknown): Answer => ({
  status: 200,
  list,
  show: (item) => show(item as Item),
});
export const created = (body: unknown): Answer => ({ status: 201, body });
