export interface FieldError {
  resource: string;
  code: string;
  field?: string;
  message?: string;
  value?: unknown;
}

/** An answer by which GitHub refuses a request: `message`, sometimes `errors`, in GitHub's words. */
export class GitHubRefusal extends Error {
  readonly status: number;
  readonly errors: string[] | FieldError[] | undefined;
  readonly headers: Record<string, string>;
  /** Nobody can know better than to ask: no mistake of whoever did. */
  isNoMistake = false;

  constructor(
    status: number,
    message: string,
    errors?: string[] | FieldError[],
    headers: Record<string, string> = {},
  ) {
    super(message);
    this.status = status;
    this.errors = errors;
    this.headers = headers;
  }
}

/** Whether an installation has a permission or a repository is learned by asking for a token, and in no other way. */
export const notGranted = (message: string) =>
  Object.assign(new GitHubRefusal(422, message), { isNoMistake: true });

export const notFound = () => new GitHubRefusal(404, "Not Found");
/** How endpoints backed by GraphQL (reviews) say no: sentences. */
export const unprocessable = (...errors: string[]) => new GitHubRefusal(422, "Unprocessable Entity", errors);
/** How the older endpoints say no: resource, code, field. */
export const validationFailed = (...errors: FieldError[]) =>
  new GitHubRefusal(422, "Validation Failed", errors);

/** A locked conversation is closed to whoever cannot push, which an App with `contents: read` cannot. */
export const lockedIssue = () => new GitHubRefusal(403, "Unable to create comment because issue is locked.");
export const lockedReview = () => unprocessable("lock prevents review");

/** GitHub counts characters, not UTF-16 units. */
const bodyLimit = 65_536;
const tooLong = `is too long (maximum is ${bodyLimit} characters)`;

/** Refuses a text longer than GitHub stores, in the words of the endpoint that was asked. */
export function checkBodyLength(
  body: string,
  resource: "IssueComment" | "PullRequestReviewComment" | "review",
): void {
  if ([...body].length <= bodyLimit) return;
  if (resource === "review") throw unprocessable(`Body ${tooLong}`);
  if (resource === "IssueComment") {
    throw validationFailed({ resource, code: "unprocessable", field: "data", message: `Body ${tooLong}` });
  }
  throw validationFailed({ resource, code: "custom", field: "body", message: `body ${tooLong}` });
}
