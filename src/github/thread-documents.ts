/** Half of what GitHub hands out at once: each thread brings its answers, and an answer has to fit the time of one request. */
export const threadsPerPage = 50;

/** `databaseId` has 32 bits, which the ids of comments have outgrown: there GitHub answers with null. */
const commentFields = "id fullDatabaseId body createdAt author { __typename login }";

/**
 * All that is ever asked of GraphQL: a page of a pull request's review threads. Further comments and reactions of a thread are read
 * by REST.
 */
export const threadsQuery = `query ($owner: String!, $repo: String!, $pull: Int!, $after: String) {
  repository(owner: $owner, name: $repo) {
    pullRequest(number: $pull) {
      reviewThreads(first: ${threadsPerPage}, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          id isResolved isOutdated path diffSide line startLine originalLine subjectType
          resolvedBy { __typename login }
          opening: comments(first: 1) {
            nodes {
              ${commentFields} url state
              reactions(last: 20, content: THUMBS_DOWN, orderBy: { field: CREATED_AT, direction: ASC }) {
                totalCount nodes { createdAt user { __typename login } }
              }
            }
          }
          latest: comments(last: 50) { totalCount nodes { ${commentFields} } }
        }
      }
    }
  }
}`;

/** All that is ever changed through GraphQL: REST cannot resolve a thread. */
export const resolvingMutation = `mutation ($id: ID!) {
  resolveReviewThread(input: { threadId: $id }) { thread { isResolved } }
}`;
