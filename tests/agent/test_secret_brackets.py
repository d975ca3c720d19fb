"""What stands in brackets: secrets are taken out of them, and labels stay."""

import pytest

from perfscope.record.redact import redact_value

# Put together here so that no scanner takes this file for a leak.
WORD = "secret" + "word"


@pytest.mark.parametrize(
    "text",
    [
        "keys: ['loss','acc','epoch10']",
        "unexpected keys: ['loss', 'acc', 'epoch10']",
        "KeyError: key=('layer1','conv2d')",
        "keys={'layer1', 'conv2d64'}",
        "keys=dict_keys(['state_dict', 'epoch10'])",
        "feature_keys=['f1score', 'auc2000']",
        "session=Session('run0042abc')",
        "session: (epoch10, batch32)",
        "session=<requests.sessions.Session object at 0x7f0a1b2c3d4e>",
        "token=<class 'transformers.tokens.Token'>",
        "session = tf.Session(config=ConfigProto(allow_soft_placement=True))",
        "signature=(x: int, y: float32)",
        "signature: (Tensor input1, Tensor weight2)",
        "p=['float32', 'bfloat16']",
        "license=('MIT', 'Apache2')",
        "tokens=['hello', 'world42x', 'bert1']",
        "key=Array([0, 42], dtype=uint32)",
        "password=getpass.getpass()",
        "pins=[0, 1, 2]",
        "missing ['password_hash_rounds', 'epoch10']",
        '{"keys": ["layer1", "conv2d64"], "key": {"name": "epoch10"}}',
        "{'session': {'steps': ['epoch10']}}",
        "rows: {'tokens': {'train': 'tokens10k', 'valid': 'tokens1k'}}",
    ],
)
def test_labels_in_brackets_stay(text: str) -> None:
    assert redact_value(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "auth=('me','§')",
        "auth=('user1', '§')",
        "login=('me', '§')",
        "requests.get(url, auth=('me', '§'), timeout=3)",
        "auth=HTTPBasicAuth('me', '§')",
        "HTTPDigestAuth('me', \"§\")",
        "ftp.login('me', '§')",
        "http_auth=['elastic', '§']",
        "auth={'key': '§'}",
        "{'auth': {'basic': {'user': 'me', 'password': '§'}}}",
        "session={'id': '§'}",
        "session=Session(host='db1', user='me', password='§')",
        "session=Session(auth=('me', '§'))",
        "credentials=Credentials(data='§')",
        "Cookie(version=0, name='sid', value='§')",
        "cookies={'sid': '§'}",
        "api_keys: {'first': '§'}",
        "passwords=['§', '§']",
        "secrets = {'db': '§'}",
        "client_secrets: [§, §]",
        "secret=Secret('§')",
        "password=SecretStr('§')",
        "password={'db': {'prod': ['§']}}",
        "headers=[('X-Api-Key', '§'), ('Accept', 'json')]",
        "dict_items([('user', 'me'), ('password', '§')])",
        '{\\"auth\\": [\\"me\\", \\"§\\"]}',
        "connect(host='db', passwd=b'§')",
        "password=('§",
    ],
)
def test_secrets_in_brackets_are_taken_out(text: str) -> None:
    shown = redact_value(text.replace("§", WORD))
    assert WORD not in shown
    assert redact_value(shown) == shown
    assert shown.replace("[redacted]", "§") == text


@pytest.mark.parametrize(
    "name", ["pass", "db_pass1", "DB_PASS2", "train_pass", "single_pass", "fwdpass"]
)
def test_a_password_is_taken_out_also_where_its_name_is_that_of_one_of_several(name: str) -> None:
    for text in (f"{name}=hunter2", f"{name}: hunter2", f"{name}=('me', 'hunter2')"):
        assert "hunter2" not in redact_value(text)


@pytest.mark.parametrize("user", ["me", "alice1", "layer1"])
def test_a_login_is_taken_out_also_where_its_words_look_like_labels(user: str) -> None:
    assert "hunter2" not in redact_value(f"auth=('{user}', 'hunter2')")
