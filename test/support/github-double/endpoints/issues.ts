import {
  type Answer,
  created,
  type Endpoints,
  inRepository,
  listed,
  type Needs,
  ok,
  type RepositoryCall,
} from "../endpoint.ts";
import { checkBodyLength, GitHubRefusal, lockedIssue, notFound, validationFailed } from "../errors.ts";
import { issueCommentOf, pullOf, reviewCommentOf, writtenNow } from "../find.ts";
import { issueCommentJson, reactionJson } from "../json/comment.ts";
import { issueJson } from "../json/issue.ts";
import type { IssueComment, Reaction, ReactionContent, Written } from "../model.ts";

/** Either permission gives access to the conversation of a pull request. */
const read: Needs = [
  ["issues", "read"],
  ["pull_requests", "read"],
];
const write: Needs = [
  ["issues", "write"],
  ["pull_requests", "write"],
];

function bodyOf(call: RepositoryCall): string {
  const { body } = call.body as { body: string };
  if (!body.trim())
    throw validationFailed({ resource: "IssueComment", code: "missing_field", field: "body" });
  checkBodyLength(body, "IssueComment");
  return body;
}

/** GitHub lets Apps with write access edit texts of others; ours must never do so, and the double refuses it. */
function ownComment(call: RepositoryCall): IssueComment {
  const comment = issueCommentOf(call);
  if (comment.author === call.token.installation.app.bot) return comment;
  throw new GitHubRefusal(403, "Resource not accessible by integration");
}

function create(call: RepositoryCall): Answer {
  const pull = pullOf(call);
  if (pull.locked) throw lockedIssue();
  const comment: IssueComment = { ...writtenNow(call, bodyOf(call)), pull };
  pull.comments.push(comment);
  return created(issueCommentJson(call.state, comment));
}

function list(call: RepositoryCall): Answer {
  const since = new Date(call.query.since ?? 0);
  const comments = pullOf(call).comments.filter((comment) => comment.updatedAt >= since);
  return listed(comments, (comment) => issueCommentJson(call.state, comment));
}

function update(call: RepositoryCall): Answer {
  const comment = ownComment(call);
  if (comment.pull.locked) throw lockedIssue();
  Object.assign(comment, { body: bodyOf(call), updatedAt: call.state.now() });
  return ok(issueCommentJson(call.state, comment));
}

function remove(call: RepositoryCall): Answer {
  const comment = ownComment(call);
  comment.pull.comments.splice(comment.pull.comments.indexOf(comment), 1);
  return { status: 204 };
}

/** A repeated reaction returns the first one. */
function react(call: RepositoryCall, written: Written): Answer {
  const { content } = call.body as { content: ReactionContent };
  const user = call.token.installation.app.bot;
  const known = written.reactions.find((one) => one.user === user && one.content === content);
  if (known) return ok(reactionJson(call.state, known));
  const reaction: Reaction = { id: call.state.nextId(), user, content, createdAt: call.state.now() };
  written.reactions.push(reaction);
  return created(reactionJson(call.state, reaction));
}

function listReactions({ state, query }: RepositoryCall, { reactions }: Written): Answer {
  const asked = reactions.filter(({ content }) => query.content === undefined || content === query.content);
  return listed(asked, (reaction) => reactionJson(state, reaction));
}

export const issues: Endpoints = {
  // GitHub documents only this permission, also for pull requests.
  "issues/get": inRepository([["issues", "read"]], ({ state, repository, path }) => {
    const number = Number(path.issue_number);
    const found = repository.issues.get(number) ?? repository.pulls.get(number);
    if (!found) throw notFound();
    return ok(issueJson(state, found));
  }),
  "issues/list-comments": inRepository(read, list),
  "issues/create-comment": inRepository(write, create),
  "issues/update-comment": inRepository(write, update),
  "issues/delete-comment": inRepository(write, remove),
  "reactions/list-for-issue-comment": inRepository(read, (call) => listReactions(call, issueCommentOf(call))),
  "reactions/list-for-pull-request-review-comment": inRepository([["pull_requests", "read"]], (call) =>
    listReactions(call, reviewCommentOf(call)),
  ),
  "reactions/create-for-issue-comment": inRepository(write, (call) => react(call, issueCommentOf(call))),
  "reactions/create-for-pull-request-review-comment": inRepository([["pull_requests", "write"]], (call) =>
    react(call, reviewCommentOf(call)),
  ),
};
