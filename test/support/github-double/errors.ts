export interface FieldError {
  resource: string;
  code: string;
  field?: string;
  message?: string;
  value?: unknown;
}

/** GitHub's refusal of a request: `message`, sometimes `errors`, in GitHub's words. */
export class GitHubRefusal extends Error {
  readonly status: number;
  readonly errors: string[] | FieldError[] | undefined;
  readonly headers: Record<string, string>;
  /** True if the client cannot know this without asking, so the request is not a mistake. */
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

/** The only way to find out whether an installation has a permission or a repository is to request a token. */
export const notGranted = (message: string) =>
  Object.assign(new GitHubRefusal(422, message), { isNoMistake: true });

export const notFound = () => new GitHubRefusal(404, "Not Found");
/** Refusal of the endpoints backed by GraphQL (reviews): sentences. */
export const unprocessable = (...errors: string[]) => new GitHubRefusal(422, "Unprocessable Entity", errors);
/** Refusal of the older endpoints: resource, code, field. */
export const validationFailed = (...errors: FieldError[]) =>
  new GitHubRefusal(422, "Validation Failed", errors);

/** A locked conversation is closed to accounts without push access, such as an App with `contents: read`. */
export const lockedIssue = () => new GitHubRefusal(403, "Unable to create comment because issue is locked.");
export const lockedReview = () => unprocessable("lock prevents review");

/** GitHub counts characters, not UTF-16 units. */
const bodyLimit = 65_536;
const tooLong = `is too long (maximum is ${bodyLimit} characters)`;

/** Refuses a text that is longer than GitHub stores, in the words of the endpoint. */
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

/** GitHub would answer this request, but the double cannot. Recorded as a violation, so that no test depends on it. */
export class NotSimulated extends Error {
  constructor(what: string) {
    super(`The double does not simulate ${what}`);
  }
}
