// Keep values with which a form was filled in, unless a person changes their fields.

/** @type {(value: unknown) => value is Record<string, unknown>} */
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Whether two values of the API are the same.
 * @param {unknown} one
 * @param {unknown} other
 */
export const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** The current values of the fields; unchanged fields give exactly the value that they showed.
 * @param {unknown} given
 * @param {unknown} shown
 * @param {unknown} now
 * @returns {any}
 */
export function kept(given, shown, now) {
  if (same(now, shown)) return given;
  if (!isObject(given) || !isObject(shown) || !isObject(now)) return now;
  const names = new Set([...Object.keys(given), ...Object.keys(now)]);
  const pairs = [...names].map((name) => [name, kept(given[name], shown[name], now[name])]);
  return Object.fromEntries(pairs.filter(([, value]) => value !== undefined));
}
