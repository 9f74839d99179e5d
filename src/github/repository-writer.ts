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

async function createBranch(
  { client, owner, repo }: RepositoryWriterOptions,
  { branch, base }: FileProposal,
): Promise<void> {
  const { data } = await client.rest.git.getRef({ owner, repo, ref: `heads/${base}` });
  const { sha } = read(Ref, data, `the branch ${base}`).object;
  try {
    await client.rest.git.createRef({ owner, repo, ref: `refs/heads/${branch}`, sha });
  } catch (error) {
    const isThere =
      error instanceof AppError &&
      error.code === "github_invalid" &&
      /reference already exists/i.test(error.message);
    if (!isThere) throw error;
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

async function openPull(options: RepositoryWriterOptions, proposal: FileProposal): Promise<string> {
  const { client, owner, repo } = options;
  const { title, body, base, branch: head } = proposal;
  try {
    const { data } = await client.rest.pulls.create({ owner, repo, title, body, base, head });
    return read(Page, data, "the pull request").html_url;
  } catch (error) {
    // Two jobs at once, or an answer that was lost: GitHub takes one pull request for a branch and its base.
    const isRefused = error instanceof AppError && error.code === "github_invalid";
    const standing = isRefused ? await proposedAt(options, proposal) : undefined;
    if (standing === undefined) throw error;
    return standing;
  }
}
