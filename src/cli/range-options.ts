/** How commands that look at a change are told which one. */
export const rangeOptions = {
  repo: { type: "string", value: "DIR", description: "the repository", default: "." },
  base: {
    type: "string",
    value: "REF",
    description:
      "what the change is to be merged into; without it the pull request's target in GitHub Actions and " +
      "GitLab CI, else origin's default branch, main or master",
  },
  head: { type: "string", value: "REF", description: "the last commit of the change", default: "HEAD" },
} as const;
