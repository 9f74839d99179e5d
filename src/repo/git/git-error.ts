import { AppError, type ErrorCode } from "../../core/errors.ts";

export const DISK_FULL_REMEDY = "Free space on the disk of the data folder, or lower HUNKWISE_DISK_LIMIT_GB";

/** git's own message without anything that could be a credential: user information of URLs, headers, and the given secrets. */
export function cleanStderr(stderr: string, secrets: readonly string[] = []): string {
  let text = stderr;
  for (const secret of secrets) if (secret.length > 3) text = text.replaceAll(secret, "***");
  // The scheme has a maximum length: otherwise each letter of a long word would start a search to its end.
  return text
    .replace(/([a-z][a-z0-9+.-]{0,30}:\/\/)[^/\s@]*@/gi, "$1***@")
    .replace(/(authorization\s*:).*/gi, "$1 ***")
    .replace(/\b(bearer|basic)(\s+)\S+/gi, "$1$2***")
    .replace(/\b(?:gh[a-z]_|github_pat_)[\w.-]+/g, "***");
}

interface Pattern {
  match: RegExp;
  code: ErrorCode;
  retryable?: boolean;
  remedy?: string;
}

/** git's messages for causes outside of git. The first match wins. */
const known: readonly Pattern[] = [
  {
    // First: if a helper cannot write, git prints further messages with other reasons. For a file of the work tree it gives no reason.
    match: /(?:No space left on device|Disk quota exceeded)\s*$|^error: unable to write file /im,
    code: "disk_full",
    retryable: true,
    remedy: DISK_FULL_REMEDY,
  },
  {
    match: /Authentication failed|could not read Username|HTTP 40[13]|returned error: 40[13]/i,
    code: "repository_unavailable",
    remedy: "Check that the App is installed on the repository and may read its contents",
  },
  {
    match:
      /repository .* not found|returned error: 404|does not appear to be a git repository|not a git repository/i,
    code: "repository_unavailable",
    remedy: "Check that the repository exists and that the App may read it",
  },
  {
    match: /returned error: 30\d|unable to update url base from redirection/i,
    code: "repository_unavailable",
    remedy: "The repository has moved: use its current name",
  },
  {
    match: /couldn't find remote ref|not our ref|no such remote ref|unadvertised object/i,
    code: "revision_unknown",
  },
  {
    match:
      /could not resolve host|failed to connect|couldn't connect|connection (?:refused|reset|timed out)|early EOF|remote end hung up|returned error: (?:429|5\d\d)|RPC failed|SSL|TLS|invalid index-pack output/i,
    code: "git_failed",
    retryable: true,
  },
  {
    // Only repositories on the machine of a person have an index that we read.
    match: /index file corrupt/i,
    code: "git_failed",
    remedy: "The index of the repository is damaged: see what git status says there",
  },
  {
    match:
      /corrupt|bad object|unable to read (?:tree|[0-9a-f]{40})|packfile .* (?:cannot be|is far too short)/i,
    code: "git_failed",
    remedy:
      "The repository is damaged: see what git fsck says there. A folder below `mirrors` can be deleted; Hunkwise fetches it again",
  },
  {
    match: /Permission denied|Read-only file system/i,
    code: "data_folder_unusable",
    remedy: "Check the permissions of the data folder",
  },
];

/** The AppError for a failed git command. `what` describes the command; the message never contains argv. */
export function gitError(
  what: string,
  end: { exitCode: number | null; stderr: string },
  secrets?: readonly string[],
) {
  const lines = cleanStderr(end.stderr, secrets)
    .split(/[\r\n]+/)
    .filter((line) => /\S/.test(line));
  const telling = lines.filter((line) => /^(fatal|error|remote):/.test(line)).slice(-3);
  const words = (telling.length > 0 ? telling : lines.slice(-1)).join("; ").slice(0, 600);
  const status = end.exitCode === null ? "was killed" : `exit code ${end.exitCode}`;
  const found = known.find(({ match }) => match.test(end.stderr));
  // git was killed, or the machine was at its limits: a retry may succeed, unless git did not understand its arguments.
  const passes = found ? (found.retryable ?? false) : end.exitCode !== USAGE_EXIT;
  return new AppError(found?.code ?? "git_failed", `git ${what} failed: ${words || status}`, {
    retryable: passes,
    ...(found?.remedy ? { remedy: found.remedy } : {}),
  });
}

/** git's exit code if it does not understand its arguments. */
const USAGE_EXIT = 129;

/** The AppError for a system error about the data folder, if its disk is full or it cannot be used; else the error itself. */
export function diskError(dataFolder: string, cause: unknown): unknown {
  const { code, syscall } = cause as NodeJS.ErrnoException;
  if (syscall === undefined) return cause;
  if (code === "ENOSPC" || code === "EDQUOT")
    return new AppError("disk_full", "The disk of the data folder is full", {
      retryable: true,
      remedy: DISK_FULL_REMEDY,
      cause,
    });
  return new AppError("data_folder_unusable", `The data folder '${dataFolder}' cannot be used`, {
    remedy: "Check that it exists and is writable",
    cause,
  });
}

export const isDiskFull = (error: unknown) => error instanceof AppError && error.code === "disk_full";

/** Whether git failed because of a lock file, of a git that runs or that was killed. */
export const isLocked = (error: unknown) =>
  error instanceof AppError && /\.lock': File exists/.test(error.message);
