/** Binary search: the index of the first item for which `holds` is true, as it must be for all behind it. */
export function firstIndex<T>(items: readonly T[], holds: (item: T) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(items[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}
