// On pages that can ask for a passkey, beside django-allauth's scripts: what needs one is shown where there can be one,
// and a browser that gives none is explained.

const hasName = !/^[\d.]+$|^\[/.test(location.hostname); // a passkey is of a name, never of an address
if (window.PublicKeyCredential && hasName) {
  for (const part of document.querySelectorAll("[data-needs-passkeys]")) part.hidden = false;
  for (const part of document.querySelectorAll("[data-lacks-passkeys]")) part.hidden = true;
}
document.addEventListener("allauth.error", (event) => {
  event.preventDefault(); // it would only go to the console
  document.querySelector("[data-passkey-failed]").hidden = false;
});
