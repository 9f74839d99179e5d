import { beforeEach, expect, it } from "vitest";
import type { Stores } from "../../src/server/queue/stores.ts";
import { dataOfTests, type StoresUnderTest } from "./suite.ts";

/** Notes are visible to every process until they are removed or expire. */
export function describeNotes(create: () => StoresUnderTest): void {
  const data = dataOfTests(create);
  let stores: Stores;
  let other: Stores;
  let time = 0;

  beforeEach(async () => {
    stores = await data.open({ now: () => time });
    other = await data.open({ now: () => time });
  });

  it("A note has the text that was written last", async () => {
    expect(await stores.notes.read("etag")).toBeNull();
    await stores.notes.write("etag", 'W/"1"');
    await other.notes.write("etag", 'W/"2" 🙂\n');
    await stores.notes.write("delivery", "");
    expect(await stores.notes.read("etag")).toBe('W/"2" 🙂\n');
    expect(await other.notes.read("delivery")).toBe("");
  });

  it("A note can be removed, even twice", async () => {
    await stores.notes.write("etag", "1");
    await other.notes.remove("etag");
    await other.notes.remove("etag");
    expect(await stores.notes.read("etag")).toBeNull();
  });

  it("A purge deletes notes that nobody rewrote for long", async () => {
    time = 1_000;
    await stores.notes.write("old", "1");
    await stores.notes.write("kept", "1");
    time = 2_000;
    await stores.notes.write("kept", "2");
    time = 3_001;
    await stores.queue.purge(2_000, 400 * 86_400_000);
    expect([await stores.notes.read("old"), await stores.notes.read("kept")]).toEqual([null, "2"]);
  });
}
