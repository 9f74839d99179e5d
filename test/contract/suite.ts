import { afterEach, beforeEach } from "vitest";
import type { DatabaseLocation, StoreOptions, Stores } from "../../src/server/queue/stores.ts";

/** Access of a suite to the stores of one database. `open` may be called again: the same data through another connection. */
export interface StoresUnderTest {
  open(options?: StoreOptions): Promise<Stores>;
  /** Location of the same data for another process. */
  place(): Promise<DatabaseLocation>;
  /** Removes the data after a test. */
  remove(): Promise<void>;
}

/** The data of each test of a suite; what a test opens is closed after it, before the data are removed. */
export function dataOfTests(create: () => StoresUnderTest) {
  let underTest: StoresUnderTest;
  const opened: Stores[] = [];
  const close = () => Promise.all(opened.splice(0).map((stores) => stores.close()));
  beforeEach(() => {
    underTest = create();
  });
  afterEach(async () => {
    await close();
    await underTest.remove();
  });
  return {
    async open(options?: StoreOptions): Promise<Stores> {
      const stores = await underTest.open(options);
      opened.push(stores);
      return stores;
    },
    place: () => underTest.place(),
    close,
  };
}
