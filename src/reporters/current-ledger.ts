import type { PullRequestApi } from "../github/pull-request-api.ts";
import type { Ledger } from "../ledger/entry.ts";
import { readLedger } from "../ledger/read-ledger.ts";
import { refusalNotice } from "./refusal-notice.ts";

type LedgerApi = Pick<PullRequestApi, "ownComments" | "ownThreads" | "ownReviewComments" | "permissionOf">;

/**
 * The ledger as it stands now. Where GitHub refuses to show our comments in the conversation there is no state, and the
 * comments on lines count all the same.
 */
export function currentLedger(api: LedgerApi): Promise<Ledger> {
  const ownComments = async () => {
    try {
      return await api.ownComments();
    } catch (error) {
      // That it is closed is told when the summary is to be written.
      refusalNotice(error, "summary comment");
      return [];
    }
  };
  return readLedger({
    ownComments,
    ownThreads: () => api.ownThreads(),
    ownReviewComments: () => api.ownReviewComments(),
    permissionOf: (login) => api.permissionOf(login),
  });
}
