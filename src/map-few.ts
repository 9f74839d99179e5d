/**
 * Runs `work` over all items, `most` at a time, begun in their order. Results come in the order of the items. The first fault
 * rejects, and no further item is begun.
 */
export async function mapFew<Item, Result>(
  items: readonly Item[],
  most: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length);
  const left = items.entries();
  let failed = false;
  const runner = async () => {
    for (const [index, item] of left) {
      if (failed) return;
      try {
        results[index] = await work(item, index);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, runner));
  return results;
}
