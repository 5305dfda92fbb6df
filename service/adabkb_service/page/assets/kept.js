// What a form was filled in with stays as it was, where nobody has changed it.

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

export const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** What the fields say now; where they say what they showed of the given value, exactly that value. */
export function kept(given, shown, now) {
  if (same(now, shown)) return given;
  if (![given, shown, now].every(isObject)) return now;
  const names = new Set([...Object.keys(given), ...Object.keys(now)]);
  const pairs = [...names].map((name) => [name, kept(given[name], shown[name], now[name])]);
  return Object.fromEntries(pairs.filter(([, value]) => value !== undefined));
}
