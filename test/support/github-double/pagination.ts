export interface Page {
  items: unknown[];
  total: number;
  link: string | undefined;
}

/** One page of a list and its `Link` header, as on GitHub: 30 items by default, 100 at most. */
export function paginate(list: readonly unknown[], url: URL): Page {
  const asked = (name: string, otherwise: number) => {
    const value = Number.parseInt(url.searchParams.get(name) ?? "", 10);
    return value >= 1 ? value : otherwise;
  };
  const size = Math.min(asked("per_page", 30), 100);
  const page = asked("page", 1);
  const last = Math.max(1, Math.ceil(list.length / size));
  const to = (number: number, rel: string) => {
    const target = new URL(url);
    target.searchParams.set("page", String(number));
    return `<${target.href}>; rel="${rel}"`;
  };
  const links = [
    ...(page > 1 ? [to(Math.min(page - 1, last), "prev")] : []),
    ...(page < last ? [to(page + 1, "next"), to(last, "last")] : []),
    ...(page > 1 ? [to(1, "first")] : []),
  ];
  return {
    items: list.slice((page - 1) * size, page * size),
    total: list.length,
    link: links.length > 0 ? links.join(", ") : undefined,
  };
}
