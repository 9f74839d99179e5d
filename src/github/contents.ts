import { z } from "zod";
import { AppError } from "../errors.ts";
import type { GitHubClient } from "./client.ts";

/** What we read as text through the contents API; beyond it GitHub hands out no content either. */
const largestFileBytes = 1_000_000;

const FileContent = z.object({
  type: z.literal("file"),
  sha: z.string().nullish(),
  size: z.number(),
  encoding: z.string(),
  content: z.string(),
});

/** A file as it stands in a commit. */
export interface StandingFile {
  text: string;
  /** Object name of its blob, which GitHub wants to know before it changes a file. */
  blob: string | null;
}

/**
 * A file at a ref, or at the tip of the default branch; undefined if there is none. Rejects with `too_large` beyond 1 MB, and
 * with `github_invalid` for a submodule and a link out of the repository.
 */
export async function readFile(
  client: GitHubClient,
  here: { owner: string; repo: string },
  path: string,
  ref?: string,
): Promise<StandingFile | undefined> {
  const route = `GET ${contentsRoute(path)}`;
  try {
    const { data } = await client.request(route, { ...here, ...(ref !== undefined && { ref }) });
    return decodeFile(data, path);
  } catch (error) {
    if (error instanceof AppError && error.code === "github_not_found") return undefined;
    throw error;
  }
}

/** Where the contents API has a file, as octokit's routes are written; rejects what is no path of a repository. */
export function contentsRoute(path: string): string {
  return `/repos/{owner}/{repo}/contents/${encodePath(path)}`;
}

/** A path as data: a segment that URLs give a meaning would lead to another endpoint. */
function encodePath(path: string): string {
  const segments = path.split("/");
  if (segments.some((segment) => segment === "" || segment === "." || segment === "..")) {
    throw new AppError("usage", `"${path}" is no path in a repository`);
  }
  return segments.map(encodeURIComponent).join("/");
}

/** A symbolic link to a file of the repository is answered by GitHub with that file, another one with the link. */
function decodeFile(data: unknown, path: string): StandingFile | undefined {
  // A folder is answered with what it holds.
  if (Array.isArray(data)) return undefined;
  const { success, data: file } = FileContent.safeParse(data);
  if (!success)
    throw new AppError("github_invalid", `${path} is not a regular file`, {
      remedy: "Replace it by the file itself.",
    });
  if (file.size > largestFileBytes || file.encoding !== "base64") {
    throw new AppError("too_large", `${path} is too large to be read (${file.size} bytes)`, {
      remedy: `Keep it under ${largestFileBytes} bytes`,
    });
  }
  return { text: Buffer.from(file.content, "base64").toString("utf8"), blob: file.sha ?? null };
}
