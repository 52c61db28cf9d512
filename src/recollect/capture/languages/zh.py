"""Chinese."""

from __future__ import annotations

from recollect.capture.language import NOTHING, Language, Signal, plain

CHINESE = Language(
    code="zh",
    signals=(
        Signal("says it is to last", 3.0, plain("以后|今后|从现在(?:开始|起)|从今(?:天|以后)|往后|一律|统一(?:用|使用|采用)|每次(?:提交|修改|改完|合并|发布|部署|写|回答|回复|运行|推送)|所有项目|任何项目|长期|规定"), firm=True),
        Signal("asks to remember it", 3.5, plain("记住|请记住|牢记|记下来|记到(?:记忆|内存)|别忘了|不要忘记"), firm=True),
        Signal("a name", 4.0, plain("我叫|叫我|我的名字(?:是|叫)|称呼我"), firm=True),
        Signal("always or never, as an order", 3.5, plain("^(?:请|另外|还有|而且|但是|，)*(?:永远不要|绝对不要|绝不|千万别|千万不要|禁止|始终|总是|务必(?:始终|总是))(?!会|报)"), firm=True),
        Signal("do not, and why", 1.0, plain("(?:不要|别|禁止).{2,30}(?:因为|否则|不然)")),
        Signal("names the place where it holds", 1.5, plain("这个项目|本项目|这个仓库|本仓库|我们这里|我们这边|这里(?:用|不用|只)|咱们|我们(?:团队|项目|仓库|代码)|代码库")),
        Signal("what we do", 3.0, plain("我们(?:这里|这边|都|一直|只|不|统一|项目)*(?:用|使用|不用|采用|写|放|部署|遵循|禁止|不写|走)")),
        Signal("always or never", 2.0, plain("总是|始终|必须|永远不要|绝不|不要|禁止|只能|务必|千万别|不允许|不准|别再")),
        Signal("what I prefer", 3.0, plain("我(?:更)?喜欢|我偏好|我习惯|我不喜欢|我讨厌|我希望你(?:以后|总是|每次|不要)"), firm=True),
        Signal("a fact of an environment", 2.0, plain("(?:生产|线上|测试环境|预发|开发环境|CI|数据库|部署|发布|上线|迁移).*(?:在|是|通过|用|只能|需要|禁止|必须|端口)")),
        Signal("how I want to be spoken to", 1.5, plain("(?:回答|回复|解释|告诉)我?|用(?:中文|英文|英语)")),
        Signal("no, ", 1.5, plain("^(?:不对|不是|错了|不，|不,|别)")),
        Signal("one thing, not the other", 1.0, plain("而不是|不要用|不用|代替|别用")),
        Signal("things of the trade, in general", 1.0, plain("所有(?:的)?(?:接口|测试|提交|分支|组件|日志|文件|变量|注释|代码|表|配置)|(?:提交信息|注释|变量名|分支名|日志)(?:都|要|用|必须)")),
    ),
    vetoes={
        "a symptom": plain("报错|失败|出错|崩溃|不工作|没反应|白屏|卡住|打不开|不显示|有问题|异常|还是不|没有生效|不生效"),
        "a question": plain("[?？]\\s*$|吗[。]?$|呢[。]?$|为什么|怎么|什么|哪个|是不是|能不能|要不要|可不可以"),
        "an order for this once": plain("这次|本次|先不要|先别|暂时|目前|今天|明天|这个(?:PR|文件|提交|函数|分支|任务)|临时|等一下|等我|先把"),
        "not decided": plain("如果|假如|要是|也许|可能|或许|考虑"),
        "an order to write it down somewhere": plain("翻译|总结|(?:写|加|添加)(?:到|进|在)|README|文档里|润色"),
        "a requirement": plain("(?:这个|该)?(?:函数|按钮|页面|用户|菜单|表单|方法|接口)(?:应该|应当|要|必须|需要)(?:总是|始终|一直|永远)"),
        "somebody else's words": plain("(?:他|她|他们|同事|老板|客户|文档|有人)(?:说|写|要求|认为)|据说"),
    },
    whole={},
    correction=plain("^(?:不对|不是|错了|不，|不,)|别再|又|怎么还"),
    devops=plain("生产|线上|环境|CI|服务器|端口|部署|分支|发布|上线|数据库|合并|推送|main|master|Jenkins|Docker|仓库"),
    user=plain("我(?:更)?喜欢|我偏好|我习惯|我不喜欢|回答|解释|用中文|跟我"),
    everywhere=plain("所有项目|任何项目|我的所有项目"),
    project=plain("这个项目|本项目|我们|这里|仓库"),
    back=plain("^(?:每次|以后都|一直|所有的都)"),
    lead=plain("^(?:[\\s，。、,.!！:：]|不对|不是|错了|记住|请记住|以后|今后)+(?=.)"),
    tail=plain("[\\s，。、,.!！]+$"),
    asides=NOTHING,
    rewrites=(),
)  # fmt: skip
