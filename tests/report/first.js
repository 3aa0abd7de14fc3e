/* Complaints about what a report shows before anybody scrolls: the question, the answer in words, its picture, few checks. */
"use strict";
const complaints = [], fold = arguments[0];
const above = (e) => e && e.checkVisibility() && e.getBoundingClientRect().top < fold;
const whole = (e) => above(e) && e.getBoundingClientRect().bottom <= fold;
const question = document.querySelector("header h2"), answer = document.querySelector("#answer p");
if (!whole(question) || !question.textContent.trim().endsWith("?")) complaints.push("no question");
if (!whole(document.querySelector("#verdict"))) complaints.push("no verdict");
if (!whole(answer) || answer.textContent.trim().length < 20 || !answer.textContent.trim().endsWith(".")) complaints.push("no answer in words");
const picture = document.querySelector("#answer figure [role=img], #answer img");
const box = picture?.getBoundingClientRect();
if (!above(picture) || box.height < 40 || Math.min(box.bottom, fold) - box.top < Math.min(box.height, 150)) complaints.push("no picture");
if (document.querySelectorAll("#mind .rests li").length > 4) complaints.push("more than four statements");
for (const e of [question, answer]) if (e && /[αβγδεθλμσΣ]|\b[sS][123]\b|evidence_/.test(e.textContent)) complaints.push(`symbols: ${e.textContent}`);
const checks = [...document.querySelectorAll("#mind .rests b, #evidence .evidence tr:not([hidden]) > th[scope=row]")].map((e) => e.textContent);
const twice = checks.filter((name, i) => checks.indexOf(name) !== i);
if (twice.length) complaints.push(`checks twice: ${twice}`);
return complaints;
