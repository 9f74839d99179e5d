import { type Endpoints, inRepository, ok } from "../endpoint.ts";
import { notFound } from "../errors.ts";
import { issueJson } from "../json/issue.ts";

export const issues: Endpoints = {
  // GitHub documents only this permission, also for pull requests.
  "issues/get": inRepository([["issues", "read"]], ({ state, repository, path }) => {
    const number = Number(path.issue_number);
    const found = repository.issues.get(number) ?? repository.pulls.get(number);
    if (!found) throw notFound();
    return ok(issueJson(state, found));
  }),
};
