/** What nearly every repository defines or every language has: the name alone does not tell whose is meant. */
const common = new Set(
  (
    "get set has add push pop map filter find test run call apply bind join split slice splice concat keys values entries " +
    "fn cb callback path line key url free malloc on off once emit end data value name type id item node result options config context handler " +
    "next then catch close open read write print println printf format parse toString equals hashCode length size len " +
    "append remove delete clear copy clone init start stop update insert index count min max sort reverse replace trim " +
    "encode decode load save send reset merge group match search contains error warn info debug log assert expect create build new make of from to is String Number Object Array Error"
  ).split(" "),
);

/** Whether a name says nothing by itself. */
export const isCommonName = (name: string): boolean => common.has(name);
