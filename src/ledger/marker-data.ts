/**
 * Data of a marker as JSON within an HTML comment: neither `--` nor an angle bracket can occur in it, nor an end of line. Nor does
 * `@`, for other bots read what they are told in a comment's source.
 */
export function markerData(data: unknown): string {
  return JSON.stringify(data).replace(
    /[<>@-]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
