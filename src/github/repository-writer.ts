import { z } from "zod";
import { AppError } from "../errors.ts";
import type { GitHubClient } from "./client.ts";
import { contentsRoute, readFile } from "./contents.ts";
import type { FileProposal, RepositoryWriter } from "./pull-request-api.ts";
import { read } from "./repository-client.ts";

export interface RepositoryWriterOptions {
  /** With a token that may write contents and pull requests. */
  client: GitHubClient;
  owner: string;
  repo: string;
}

const Ref = z.object({ object: z.object({ sha: z.string() }) });
const Page = z.object({ html_url: z.string() });

/**
 * Writes step by step, and each step looks first whether it is done: a call after a fault goes on where the last one ended.
 * Nothing is ever deleted or overwritten but the one file on its own branch.
 */
export function createRepositoryWriter(options: RepositoryWriterOptions): RepositoryWriter {
  return {
    async propose(proposal) {
      const standing = await proposedAt(options, proposal);
      if (standing !== undefined) return standing;
      await createBranch(options, proposal);
      await writeFile(options, proposal);
      return openPull(options, proposal);
    },
  };
}

/** The page of the branch's pull request, open or closed: what somebody closed is not proposed again. */
async function proposedAt(
  { client, owner, repo }: RepositoryWriterOptions,
  { branch }: FileProposal,
): Promise<string | undefined> {
  const head = `${owner}:${branch}`;
  const { data } = await client.rest.pulls.list({ owner, repo, head, state: "all", per_page: 1 });
  return read(z.array(Page), data, `the pull request of ${branch}`)[0]?.html_url;
}

async function createBranch(options: RepositoryWriterOptions, { branch, base }: FileProposal): Promise<void> {
  if ((await tipOf(options, branch)) !== undefined) return;
  const sha = await tipOf(options, base);
  if (sha === undefined) throw new AppError("github_not_found", `There is no branch ${base}`);
  const { client, owner, repo } = options;
  await client.rest.git.createRef({ owner, repo, ref: `refs/heads/${branch}`, sha });
}

async function tipOf(
  { client, owner, repo }: RepositoryWriterOptions,
  branch: string,
): Promise<string | undefined> {
  try {
    const { data } = await client.rest.git.getRef({ owner, repo, ref: `heads/${branch}` });
    return read(Ref, data, `the branch ${branch}`).object.sha;
  } catch (error) {
    if (error instanceof AppError && error.code === "github_not_found") return undefined;
    throw error;
  }
}

async function writeFile(
  { client, owner, repo }: RepositoryWriterOptions,
  { branch, path, text, title }: FileProposal,
): Promise<void> {
  const here = { owner, repo };
  const standing = await readFile(client, here, path, branch);
  if (standing?.text === text) return;
  const content = Buffer.from(text, "utf8").toString("base64");
  const replaced = standing?.blob ? { sha: standing.blob } : {};
  await client.request(`PUT ${contentsRoute(path)}`, {
    ...here,
    branch,
    message: title,
    content,
    ...replaced,
  });
}

async function openPull(
  { client, owner, repo }: RepositoryWriterOptions,
  { title, body, base, branch: head }: FileProposal,
): Promise<string> {
  const { data } = await client.rest.pulls.create({ owner, repo, title, body, base, head });
  return read(Page, data, "the pull request").html_url;
}
