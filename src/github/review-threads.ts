import { z } from "zod";
import type { GitHubClient } from "./client.ts";

export interface ThreadsOf {
  client: GitHubClient;
  owner: string;
  repo: string;
  pull: number;
}

/**
 * Only GraphQL knows whether a thread is resolved. `databaseId` has 32 bits, which the ids of comments have outgrown: there
 * GitHub answers with null.
 */
const query = `query ($owner: String!, $repo: String!, $pull: Int!, $after: String) {
  repository(owner: $owner, name: $repo) {
    pullRequest(number: $pull) {
      reviewThreads(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { isResolved isOutdated comments(first: 1) { nodes { fullDatabaseId } } }
      }
    }
  }
}`;

const Page = z.object({
  repository: z.object({
    pullRequest: z.object({
      reviewThreads: z.object({
        pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullable() }),
        nodes: z.array(
          z.object({
            isResolved: z.boolean(),
            isOutdated: z.boolean(),
            comments: z.object({ nodes: z.array(z.object({ fullDatabaseId: z.coerce.number().int() })) }),
          }),
        ),
      }),
    }),
  }),
});

/** 10,000 threads. */
const mostPages = 100;

/** Ids of the first comments of threads that are neither resolved nor outdated. */
export async function openThreads({ client, owner, repo, pull }: ThreadsOf): Promise<Set<number>> {
  const open = new Set<number>();
  let after: string | null = null;
  for (let page = 0; page < mostPages; page++) {
    const variables: Record<string, unknown> = { owner, repo, pull, after };
    const { pageInfo, nodes } = (await client.query(query, variables, Page)).repository.pullRequest
      .reviewThreads;
    for (const { isResolved, isOutdated, comments } of nodes) {
      const id = comments.nodes[0]?.fullDatabaseId;
      if (!isResolved && !isOutdated && id !== undefined) open.add(id);
    }
    if (!pageInfo.hasNextPage) break;
    after = pageInfo.endCursor;
  }
  return open;
}
