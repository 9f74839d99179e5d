import { decodeStart } from "../text/decode.ts";
import type { CheckoutPlace } from "./checkout-place.ts";
import { fileStart } from "./file-start.ts";
import { ObjectWorkspace, twice } from "./object-workspace.ts";
import { searchTree } from "./search.ts";
import type { SearchHits, SearchQuery, Workspace } from "./workspace.ts";
import { isWritable } from "./writable.ts";

/** Opens a checkout for reading. Dispose of it: it keeps one git process for reading blobs. */
export function openWorkspace(place: CheckoutPlace): Workspace & AsyncDisposable {
  return new CheckoutWorkspace(place);
}

/** What lies on the disk is read there: it costs less than asking git. */
class CheckoutWorkspace extends ObjectWorkspace {
  override async headStart(path: string, maxBytes: number): ReturnType<Workspace["headStart"]> {
    // What no disk has room for in a name is not in the checkout.
    if (!isWritable(path)) return await super.headStart(path, maxBytes);
    return decodeStart(fileStart(this.root, path, maxBytes), maxBytes);
  }

  override async search(query: SearchQuery, signal: AbortSignal): Promise<SearchHits> {
    const place = { root: this.root, tree: await this.tree("head") };
    return await twice(() => searchTree(place, query, signal));
  }
}
