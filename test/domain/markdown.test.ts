/** Texts of others in Markdown: one line, no markup, nothing hidden, never half a character. */
import { expect, test } from 'vitest';
import { brief, escape } from '../../src/domain/markdown.js';

test.each([
  ['a | b\nc', 'a \\| b c'],
  ['![x](http://a/b.png) <img>', '!\\[x\\](http://a/b.png) \\<img\\>'],
  ['`rm` **now** a_b ~c~ \\', '\\`rm\\` \\*\\*now\\*\\* a\\_b \\~c\\~ \\\\'],
  ['pay\u202Eecnalab', 'pay\\\\u{202e}ecnalab'],
])('%j', (text, line) => {
  expect(escape(text)).toBe(line);
});

test('a text is cut between characters, and marked', () => {
  expect(brief('abcd', 4)).toBe('abcd');
  expect(brief('abcde', 4)).toBe('abcd…');
  const keys = '🗝'.repeat(5);
  expect(brief(keys, 5)).toBe(keys);
  expect(brief(`${keys}x`, 5)).toBe(`${keys}…`);
  expect(() => encodeURIComponent(brief(`a${'🗝'.repeat(300)}`, 160))).not.toThrow();
});
