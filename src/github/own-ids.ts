import { z } from "zod";
import { type AppIdentity, ownAmong } from "./own-text.ts";

/** Ids of what GitHub has shown to a job to be its App's own, on the pull request of the job. Nothing else is ever changed. */
export interface OwnIds {
  reviews: Set<number>;
  /** On lines and files, answers too. */
  lineComments: Set<number>;
  /** In the conversation. */
  comments: Set<number>;
  /** Of any commit of the repository. */
  checkRuns: Set<number>;
  /** Node ids. */
  threads: Set<string>;
  /** Of the App's bot among the accounts: one, once a text of ours was seen. */
  accounts: Set<number>;
}

export const noOwnIds = (): OwnIds => ({
  reviews: new Set(),
  lineComments: new Set(),
  comments: new Set(),
  checkRuns: new Set(),
  threads: new Set(),
  accounts: new Set(),
});

const Written = z.object({
  user: z.object({ id: z.int(), login: z.string(), type: z.literal("Bot") }),
});
const CheckRun = z.object({ id: z.int(), app: z.object({ id: z.int() }) });
const CheckRuns = z.object({ check_runs: z.array(z.unknown()) });
const Thread = z.object({
  id: z.string(),
  opening: z.object({
    nodes: z.tuple([z.object({ author: z.object({ __typename: z.literal("Bot"), login: z.string() }) })]),
  }),
});
const Threads = z.object({
  data: z.object({
    repository: z.object({
      pullRequest: z.object({ reviewThreads: z.object({ nodes: z.array(z.unknown()) }) }),
    }),
  }),
});

/** Notes what an answer shows to be ours; `path` is below the repository, or `/graphql`. Everything else is passed over. */
export function learnOwn(own: OwnIds, app: AppIdentity, pull: number, path: string, data: unknown): void {
  const texts = textsAt(own, pull, path);
  const items = Array.isArray(data) ? data : [data];
  if (texts) for (const { id } of ownAmong(items, app)) texts.add(id);
  if (texts) learnAccount(own, app, items);
  if (/^(check-runs|commits\/[^/]+\/check-runs)$/.test(path)) learnCheckRuns(own, app, data);
  if (path === "/graphql") learnThreads(own, app, data);
}

function learnAccount({ accounts }: OwnIds, { slug }: AppIdentity, items: readonly unknown[]): void {
  for (const item of items) {
    const user = Written.safeParse(item).data?.user;
    if (user?.login.toLowerCase() === `${slug}[bot]`.toLowerCase()) accounts.add(user.id);
  }
}

/** Both lists and what was just made are answered at these paths. */
function textsAt(own: OwnIds, pull: number, path: string): Set<number> | undefined {
  if (path === `pulls/${pull}/reviews`) return own.reviews;
  if (path === `issues/${pull}/comments`) return own.comments;
  const isOnLines =
    path === `pulls/${pull}/comments` ||
    (path.startsWith(`pulls/${pull}/comments/`) && path.endsWith("/replies"));
  return isOnLines ? own.lineComments : undefined;
}

function learnCheckRuns(own: OwnIds, app: AppIdentity, data: unknown): void {
  const items = CheckRuns.safeParse(data).data?.check_runs ?? [data];
  for (const item of items) {
    const run = CheckRun.safeParse(item).data;
    if (run?.app.id === app.id) own.checkRuns.add(run.id);
  }
}

/** GraphQL names a bot without the brackets that REST puts behind it; no person's account is of this type. */
function learnThreads(own: OwnIds, { slug }: AppIdentity, data: unknown): void {
  const nodes = Threads.safeParse(data).data?.data.repository.pullRequest.reviewThreads.nodes ?? [];
  for (const node of nodes) {
    const thread = Thread.safeParse(node).data;
    const login = thread?.opening.nodes[0].author.login;
    if (thread && login?.toLowerCase() === slug.toLowerCase()) own.threads.add(thread.id);
  }
}
