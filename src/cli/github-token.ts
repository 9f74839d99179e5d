import { ghEnvironment, gitHubVariables, programPath } from "../config/process-env.ts";
import { AppError } from "../errors.ts";
import { findOnPath, runProcess } from "../git/run-process.ts";

/**
 * The token for a GitHub, which goes to no other one. As for GitHub's own command line, `GH_TOKEN` and `GITHUB_TOKEN` are for github.com, or
 * for the tenant of ghe.com that `GH_HOST` names; `GH_ENTERPRISE_TOKEN` and `GITHUB_ENTERPRISE_TOKEN` are for the server that it names.
 * Otherwise `gh` is asked for the one that it stored for this host (https://cli.github.com/manual/gh_help_environment). Rejects with
 * `usage`, before any request.
 */
export async function tokenFor(host: string, signal: AbortSignal): Promise<string> {
  const { ofGitHub, ofServer, server } = gitHubVariables();
  const isTenant = host.endsWith(".ghe.com");
  const isGitHub = host === "github.com" || (isTenant && server === host);
  const token = isGitHub ? ofGitHub : server === host ? ofServer : null;
  // `gh` takes these for github.com.
  if (host.endsWith(".github.com")) throw noToken(host, "GH_TOKEN");
  const found = token ?? (await storedToken(host, signal));
  if (found !== null) return found;
  throw noToken(host, host === "github.com" || isTenant ? "GH_TOKEN" : "GH_ENTERPRISE_TOKEN");
}

function noToken(host: string, variable: string): AppError {
  const forHost =
    host === "github.com" ? "" : ` with GH_HOST=${host}, because other tokens are for other hosts`;
  return new AppError("usage", `There is no token for ${host}`, {
    remedy: `Set ${variable}${forHost}, or log in with: gh auth login --hostname ${host}`,
  });
}

/** What `gh` prints; null without `gh`, or if it has no token for this host. */
async function storedToken(host: string, signal: AbortSignal): Promise<string | null> {
  const program = await findOnPath("gh", programPath());
  if (program === undefined) return null;
  const args = ["auth", "token", "--hostname", host];
  const request = { program, args, cwd: "/", env: ghEnvironment(), signal, timeoutMs: 30_000 };
  const { exitCode, stdout } = await runProcess(request);
  const token = stdout.toString("utf8").trim();
  return exitCode === 0 && /^[\w.-]{10,500}$/.test(token) ? token : null;
}
