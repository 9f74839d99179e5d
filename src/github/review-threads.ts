import { z } from "zod";
import type { GitHubClient } from "./client.ts";
import type { AppIdentity } from "./own-text.ts";
import type { OwnThread } from "./pull-request-api.ts";

export interface ThreadsOf {
  client: GitHubClient;
  owner: string;
  repo: string;
  pull: number;
}

/** Which threads are asked for: how many at a time, how often at most, and what of each. */
interface Selection<Thread> {
  perPage: number;
  mostPages: number;
  /** Fields in GraphQL. */
  fields: string;
  shape: z.ZodType<Thread>;
}

/** Only GraphQL knows whether a thread is resolved. */
async function threads<Thread>(
  { client, owner, repo, pull }: ThreadsOf,
  { perPage, mostPages, fields, shape }: Selection<Thread>,
): Promise<Thread[]> {
  const query = `query ($owner: String!, $repo: String!, $pull: Int!, $after: String) {
  repository(owner: $owner, name: $repo) {
    pullRequest(number: $pull) {
      reviewThreads(first: ${perPage}, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { ${fields} }
      }
    }
  }
}`;
  const pageInfo = z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullable() });
  const reviewThreads = z.object({ pageInfo, nodes: z.array(shape) });
  const Page = z.object({ repository: z.object({ pullRequest: z.object({ reviewThreads }) }) });
  const found: Thread[] = [];
  let after: string | null = null;
  for (let page = 0; page < mostPages; page++) {
    const variables: Record<string, unknown> = { owner, repo, pull, after };
    const answer: z.infer<typeof Page> = await client.query(query, variables, Page);
    const { nodes, pageInfo } = answer.repository.pullRequest.reviewThreads;
    found.push(...nodes);
    if (!pageInfo.hasNextPage) break;
    after = pageInfo.endCursor;
  }
  return found;
}

/** 10,000 threads. `databaseId` has 32 bits, which the ids of comments have outgrown: there GitHub answers with null. */
const states = {
  perPage: 100,
  mostPages: 100,
  fields: "isResolved isOutdated comments(first: 1) { nodes { fullDatabaseId } }",
  shape: z.object({
    isResolved: z.boolean(),
    isOutdated: z.boolean(),
    comments: z.object({ nodes: z.array(z.object({ fullDatabaseId: z.coerce.number().int() })) }),
  }),
};

/** Ids of the first comments of threads that are neither resolved nor outdated. */
export async function openThreads(of: ThreadsOf): Promise<Set<number>> {
  const open = (await threads(of, states)).filter(({ isResolved, isOutdated }) => !isResolved && !isOutdated);
  return new Set(open.flatMap(({ comments }) => comments.nodes.map(({ fullDatabaseId }) => fullDatabaseId)));
}

const Comment = z.object({
  id: z.string(),
  body: z.string(),
  /** Null when the account is gone. */
  author: z.object({ __typename: z.string(), login: z.string() }).nullable(),
});
const Comments = z.object({ nodes: z.array(Comment) });

/** 200 threads, a page of which is bounded by what people can write into so many comments. */
const talk = {
  perPage: 25,
  mostPages: 8,
  fields: `isResolved isOutdated path line
        opening: comments(first: 1) { nodes { id body author { __typename login } } }
        latest: comments(last: 8) { nodes { id body author { __typename login } } }`,
  shape: z.object({
    isResolved: z.boolean(),
    isOutdated: z.boolean(),
    path: z.string(),
    line: z.int().nullable(),
    opening: Comments,
    latest: Comments,
  }),
};

/** Threads that a comment of ours began, in GitHub's order. */
export async function ownThreads(of: ThreadsOf, app: AppIdentity): Promise<OwnThread[]> {
  const found = await threads(of, talk);
  return found.flatMap(({ isResolved, isOutdated, path, line, opening, latest }) => {
    const first = opening.nodes[0];
    if (!first || !isOurs(first, app)) return [];
    const replies = latest.nodes.filter(({ id, author }) => id !== first.id && author?.__typename === "User");
    return [
      {
        ...{ body: first.body, path, line: isOutdated ? null : line },
        ...{ resolved: isResolved, outdated: isOutdated, replies: replies.map(({ body }) => body) },
      },
    ];
  });
}

/** GraphQL names a bot without the brackets that REST puts behind it; no person's account is of this type. */
function isOurs({ author }: z.infer<typeof Comment>, { slug }: AppIdentity): boolean {
  return author?.__typename === "Bot" && author.login.toLowerCase() === slug.toLowerCase();
}
