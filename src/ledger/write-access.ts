import type { PullRequestApi } from "../github/pull-request-api.ts";

/** Whether GitHub says that a person can write to the repository. Rejects when it cannot be asked. */
export async function hasWriteAccess(
  api: Pick<PullRequestApi, "permissionOf">,
  login: string,
): Promise<boolean> {
  const permission = await api.permissionOf(login);
  return permission === "admin" || permission === "write";
}
